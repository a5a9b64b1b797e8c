// Package twins_test compares the operators of this chapter, which serve the same API, by the contract of a Memcached operator.
package twins_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

var update = flag.Bool("update", false, "write what the operators do into the page's table")

// twin is an operator that the table has a column for.
type twin struct {
	// name is the heading of the column.
	name string
	// needsSDK is whether it runs a program that `make sdk` builds.
	needsSDK bool
	// executable returns the operator of a project.
	executable func(t *testing.T, project string) string
	// directory holds its manifests and its mapping, relative to the repository.
	directory string
	// flags are further flags of testbed conformance.
	flags []string
	// unsteady are claims whose outcome may differ from run to run.
	unsteady []string
}

var twins = []twin{
	{
		name: "Go", directory: "tutorial/operator-sdk",
		executable: func(t *testing.T, project string) string {
			t.Helper()
			binary := filepath.Join(t.TempDir(), "manager")
			if err := runner.Build(t.Context(), project, "./cmd", binary); err != nil {
				t.Fatal(err)
			}
			return binary
		},
		// The finalizer, the Deployment and a first status are three writes. Whether there is a second status depends on how many pods are
		// ready when the first is written.
		unsteady: []string{conflict, firstWrites, mediumWrites, scaleWrites},
	},
	{
		name: "Helm", directory: "tutorial/operator-sdk/helm", needsSDK: true,
		executable: func(_ *testing.T, project string) string { return filepath.Join(project, "operator") },
		flags:      []string{"--unconfined"}, // it reads the chart
		// It writes each object several times, and some of these writes are in conflict. The failures that it then reports for a moment
		// decide some of these points, and its minutely reconciliation others.
		unsteady: []string{
			conflict, "fields of others are left alone", "no write follows from a change that does not matter",
			"a rollout that exceeds its progress deadline is reported, Progressing ends, and the object recovers",
		},
	},
}

// Claims whose outcome depends on timing.
const (
	conflict     = "no write is in conflict"
	firstWrites  = "at most 3 writes make one of size 1 Available"
	mediumWrites = "at most 3 writes make one of size 3 Available"
	scaleWrites  = "at most 4 writes take a new one from size 3 to 5"
)

// dependsOnTiming is in the table where an outcome may differ from run to run.
const dependsOnTiming = "depends on timing"

const (
	begins = "<!-- The table: printed by go test ./tutorial/operator-sdk/test/twins -update. -->\n"
	ends   = "<!-- The end of the table. -->"
)

// TestTwins checks each operator against the contract, and compares the outcomes with its column of the page's table.
func TestTwins(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "tutorial", "operator-sdk", "helm", "README.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(page), begins)
	table, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table: it needs these two lines\n%s%s", file, begins, ends)
	}
	shown := parseTable(table)
	for i, operator := range twins {
		t.Run(operator.name, func(t *testing.T) {
			operator.needsProgram(t, root)
			table, log := operator.conformance(t, root, operator.project(root), "--markdown")
			printed := parseTable(table)
			if len(printed) < 20 {
				t.Fatalf("testbed conformance printed %d points:\n%s\n%s", len(printed), table, log)
			}
			if *update {
				shown = withColumn(shown, i, printed, operator.outcomes(printed))
				return
			}
			NewWithT(t).Expect(column(shown, i)).To(Equal(operator.outcomes(printed)), "expected what the table in tutorial/operator-sdk/README.md says: -update writes it")
		})
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(before+begins+"\n"+formatTable(shown)+"\n"+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// project returns the directory of the operator's project.
func (o twin) project(root string) string {
	return filepath.Join(root, filepath.FromSlash(o.directory))
}

// needsProgram puts the operator's program on PATH, or skips the test where `make sdk` has not built it.
func (o twin) needsProgram(t *testing.T, root string) {
	t.Helper()
	if o.needsSDK {
		t.Setenv("PATH", string(sdk.Need(t, root))+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
}

// conformance runs testbed conformance for the operator of a project, and returns what it prints.
func (o twin) conformance(t *testing.T, root, project string, flags ...string) (stdout, stderr string) {
	t.Helper()
	args := slices.Concat([]string{"run", "./e2e/cmd/testbed", "conformance", "--operator", o.executable(t, project),
		"--manifests", filepath.Join(project, "config", "default"), "--mapping", filepath.Join(project, "conformance.yaml")}, o.flags, flags)
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = root
	command.Env = append(os.Environ(), "TESTBED_STATE="+filepath.Join(t.TempDir(), "state"))
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	// It exits with an error if a point does not hold. If it has no result at all, the callers miss what they look for.
	if err := command.Run(); err != nil {
		t.Logf("testbed conformance: %v", err)
	}
	return out.String(), log.String()
}

// parseTable returns the cells of a table's rows, without its heading.
func parseTable(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| point ") {
			continue
		}
		rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return rows
}

// outcomes returns what the table says of each claim, given the rows that testbed conformance has printed.
func (o twin) outcomes(printed [][]string) map[string]string {
	outcomes := map[string]string{}
	for _, row := range printed {
		if len(row) == 3 {
			outcomes[row[1]] = row[2]
		}
		if slices.Contains(o.unsteady, row[1]) {
			outcomes[row[1]] = dependsOnTiming
		}
	}
	return outcomes
}

// column returns what the page's table says of the operator of that number.
func column(rows [][]string, number int) map[string]string {
	outcomes := map[string]string{}
	for _, row := range rows {
		if len(row) > number+2 {
			outcomes[row[1]] = row[number+2]
		}
	}
	return outcomes
}

// withColumn replaces a column of the page's table by the outcomes of the claims that were printed.
func withColumn(rows [][]string, number int, printed [][]string, outcomes map[string]string) [][]string {
	var replaced [][]string
	for _, row := range printed {
		cells := append([]string{row[0], row[1]}, slices.Repeat([]string{"not tried"}, len(twins))...)
		if old := slices.IndexFunc(rows, func(r []string) bool { return r[1] == row[1] }); old >= 0 {
			copy(cells[2:], rows[old][2:])
		}
		cells[number+2] = outcomes[row[1]]
		replaced = append(replaced, cells)
	}
	return replaced
}

// formatTable returns the page's table.
func formatTable(rows [][]string) string {
	heading := []string{"point", "claim"}
	for _, operator := range twins {
		heading = append(heading, operator.name)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n%s|\n", strings.Join(heading, " | "), strings.Repeat("|---", len(heading)))
	for _, row := range rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
	}
	return text.String()
}

// TestFaultyCharts runs one point of the contract with the chart and with each of its mutants, which only the mutants may fail.
func TestFaultyCharts(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	patches, err := filepath.Glob("mutants/*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatalf("there are no mutants of the chart: %v", err)
	}
	helm := twins[slices.IndexFunc(twins, func(o twin) bool { return o.name == "Helm" })]
	for _, patch := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			helm.needsProgram(t, root)
			text, err := os.ReadFile(patch)
			if err != nil {
				t.Fatal(err)
			}
			point, assertion := headerOf(string(text), "Point"), headerOf(string(text), "Assertion")
			if point == "" || assertion == "" {
				t.Fatalf("%s has no lines Point: and Assertion: at its beginning", patch)
			}
			healthy := helm.project(root)
			if report, log := helm.conformance(t, root, healthy, "--point="+point); !strings.Contains(log, "1 of 1 points hold") {
				t.Fatalf("expected the point %q to hold for the chart as it is:\n%s\n%s", point, report, log)
			}
			faulty := filepath.Join(t.TempDir(), "helm")
			if err := os.CopyFS(faulty, os.DirFS(healthy)); err != nil {
				t.Fatal(err)
			}
			absolute, err := filepath.Abs(patch)
			if err != nil {
				t.Fatal(err)
			}
			apply := exec.CommandContext(t.Context(), "git", "apply", "-p4", absolute)
			apply.Dir = faulty
			apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(faulty))
			if out, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("git apply %s: %v\n%s", patch, err, out)
			}
			t.Setenv("TESTBED_EXPECTED", assertion) // an assertion that fails in this way waits less
			report, log := helm.conformance(t, root, faulty, "--point="+point)
			NewWithT(t).Expect(log).To(ContainSubstring("0 of 1 points hold"), "expected the point %q not to hold for %s", point, patch)
			NewWithT(t).Expect(report).To(ContainSubstring(assertion))
		})
	}
}

// headerOf returns the value of a line at the beginning of a mutant.
func headerOf(patch, key string) string {
	header, _, _ := strings.Cut(patch, "\n\n")
	for line := range strings.Lines(header) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), key+": "); is {
			return value
		}
	}
	return ""
}
