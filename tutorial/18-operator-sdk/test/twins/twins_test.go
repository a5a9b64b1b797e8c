// Package twins_test compares the operators of this chapter, which serve the same API, by the contract of a Memcached operator.
package twins_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/sdk/images"
	"github.com/example/operator-testbed/e2e/tier"
)

var update = flag.Bool("update", false, "write what the operators do into the page's table")

// twin is an operator that the tables have a column for.
type twin struct {
	// name is the heading of the column.
	name string
	// need returns the programs that `make sdk` builds, if the operator runs one of them. It skips the test where they are not built, or
	// where "Ansible is incomplete".
	need func(t testing.TB, root string) sdk.Tools
	// program is the one of these programs that is the operator. The others are compiled.
	program string
	// executable returns the operator of a project.
	executable func(t *testing.T, project string) string
	// image makes the image of a project in the repository at root.
	image func(t *testing.T, programs sdk.Tools, root, project string) (v1.Image, error)
	// directory holds its manifests, relative to the repository. Its mapping is there, too, unless mapping says where it is.
	directory, mapping string
	// condition is the one that its users wait for.
	condition string
	// flags are further flags of testbed conformance, and env are variables that its manifests do not have.
	flags, env []string
	// unsteady are claims whose outcome may differ from run to run.
	unsteady []string
	// steadyWrites is whether only a slow cluster makes it write more often than in another run.
	steadyWrites bool
	// api and behavior are the files and directories that an author writes: the API with its schema, and what the operator does.
	api, behavior []string
}

var twins = []twin{
	{
		name: "Go by hand", directory: "operator", mapping: "e2e/conformance/mappings/operator-testbed.yaml",
		executable: compiled, image: compiledImage, condition: "Available", steadyWrites: true,
		api: []string{"api"}, behavior: []string{"internal", "cmd"},
	},
	{
		name: "Go by SDK", directory: "tutorial/18-operator-sdk",
		executable: compiled, image: compiledImage, condition: "Available",
		// The finalizer, the Deployment and a first status are three writes. Whether there is a second status depends on how many pods are
		// ready when the first is written.
		unsteady: []string{conflict, firstWrites, mediumWrites, scaleWrites},
		api:      []string{"api"}, behavior: []string{"internal", "cmd"},
	},
	{
		name: "Helm", directory: "tutorial/18-operator-sdk/helm", need: sdk.Need, program: sdk.HelmOperator,
		executable: script, image: helmImage, condition: "Deployed",
		flags: []string{"--unconfined"}, // it reads the chart
		// It writes each object several times, and some of these writes are in conflict. The failures that it then reports for a moment
		// decide some of these points, and its minutely reconciliation others.
		unsteady: []string{
			conflict, "fields of others are left alone", "no write follows from a change that does not matter",
			"a rollout that exceeds its progress deadline is reported, Progressing ends, and the object recovers",
		},
		api: manifests, behavior: []string{"watches.yaml", "helm-charts"},
	},
	{
		name: "Ansible", directory: "tutorial/18-operator-sdk/ansible", need: sdk.NeedAnsible, program: sdk.AnsibleOperator,
		executable: script, image: ansibleImage, condition: "Successful",
		// It reads the role. One run of it takes seconds, and only as many run at once as there are processors.
		flags: []string{"--unconfined", "--patience=2m"}, env: []string{sdk.AnsibleLocked},
		unsteady: []string{conflict},
		api:      manifests, behavior: []string{"watches.yaml", "roles"},
	},
}

// manifests are the files with the API of an operator that is not written in Go. The tools of the others make them from markers.
var manifests = []string{"config/crd/bases", "config/rbac/role.yaml"}

// compiled compiles a project in Go.
func compiled(t *testing.T, project string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	if err := runner.Build(t.Context(), project, "./cmd", binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// compiledImage makes the image of a project in Go, which contains only the executable.
func compiledImage(t *testing.T, _ sdk.Tools, _, project string) (v1.Image, error) {
	return images.Go(compiled(t, project))
}

func helmImage(_ *testing.T, programs sdk.Tools, _, project string) (v1.Image, error) {
	return images.Helm(programs, project)
}

func ansibleImage(t *testing.T, programs sdk.Tools, root, project string) (v1.Image, error) {
	return images.Ansible(programs, project, images.NeedDebian(t, root))
}

// script returns the script of a project that runs one of the Operator SDK's programs.
func script(_ *testing.T, project string) string { return filepath.Join(project, "operator") }

// Claims whose outcome depends on timing.
const (
	conflict     = "no write is in conflict"
	firstWrites  = "at most 3 writes make one of size 1 Available"
	mediumWrites = "at most 3 writes make one of size 3 Available"
	scaleWrites  = "at most 4 writes take a new one from size 3 to 5"
)

// dependsOnTiming is in the table where an outcome may differ from run to run.
const dependsOnTiming = "depends on timing"

// section is the place of a table in the page, between two lines.
type section struct{ begins, ends string }

var points = section{
	begins: "<!-- The table: printed by go test ./tutorial/18-operator-sdk/test/twins -update. -->\n",
	ends:   "<!-- The end of the table. -->",
}

// page returns the path of the page with the tables, and the root of the repository.
func page(t *testing.T) (file, root string) {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "tutorial", "18-operator-sdk", "helm", "README.md"), root
}

// split returns the text before a table of the page, the table, and the text behind it.
func (s section) split(t *testing.T, file string) (before, text, after string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(content), s.begins)
	text, after, ended := strings.Cut(rest, s.ends)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table: it needs these two lines\n%s%s", file, s.begins, s.ends)
	}
	return before, text, after
}

// write replaces the table in the page.
func (s section) write(t *testing.T, file, text string) {
	t.Helper()
	before, _, after := s.split(t, file)
	if err := os.WriteFile(file, []byte(before+s.begins+"\n"+text+"\n"+s.ends+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTwins checks each operator against the contract, and compares the outcomes with its column of the page's table.
func TestTwins(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	file, root := page(t)
	for i, operator := range twins {
		t.Run(operator.name, func(t *testing.T) {
			operator.needPrograms(t, root)
			report, log := operator.conformance(t, root, operator.project(root), "--markdown")
			printed := parseTable(report)
			if len(printed) < 20 {
				t.Fatalf("testbed conformance printed %d points:\n%s\n%s", len(printed), report, log)
			}
			_, text, _ := points.split(t, file)
			shown := parseTable(text)
			if *update {
				points.write(t, file, formatTable([]string{"point", "claim"}, withColumn(shown, i, printed, operator.outcomes(printed))))
				return
			}
			NewWithT(t).Expect(column(shown, i)).To(Equal(operator.outcomes(printed)), "expected what the table in tutorial/18-operator-sdk/helm/README.md says: -update writes it")
		})
	}
}

// project returns the directory of the operator's project.
func (o twin) project(root string) string {
	return filepath.Join(root, filepath.FromSlash(o.directory))
}

// needPrograms returns the operator's programs, and puts them on PATH. It skips the test where something is missing. A test calls it once.
func (o twin) needPrograms(t *testing.T, root string) (programs sdk.Tools) {
	t.Helper()
	if o.need != nil {
		programs = o.need(t, root)
		t.Setenv("PATH", string(programs)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return programs
}

// conformance runs testbed conformance for the operator of a project, and returns what it prints.
func (o twin) conformance(t *testing.T, root, project string, flags ...string) (stdout, stderr string) {
	t.Helper()
	mapping := filepath.Join(project, "conformance.yaml")
	if o.mapping != "" {
		mapping = filepath.Join(root, filepath.FromSlash(o.mapping))
	}
	args := []string{"conformance", "--operator", o.executable(t, project), "--manifests", filepath.Join(project, "config", "default"), "--mapping", mapping}
	stdout, stderr, err := o.testbed(t, root, slices.Concat(args, o.flags, flags)...)
	// It exits with an error if a point does not hold. If it has no result at all, the callers miss what they look for.
	if err != nil {
		t.Logf("testbed conformance: %v", err)
	}
	return stdout, stderr
}

// testbed runs the testbed's command line for the operator, whose progress is in the test's output.
func (o twin) testbed(t *testing.T, root string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	for _, variable := range o.env {
		args = append(args, "--env="+variable)
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"run", "./e2e/cmd/testbed"}, args...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "TESTBED_STATE="+filepath.Join(t.TempDir(), "state"))
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, io.MultiWriter(&log, t.Output())
	err = command.Run()
	return out.String(), log.String(), err
}

// parseTable returns the cells of a table's rows, without its heading.
func parseTable(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| point ") || strings.HasPrefix(line, "| cost ") {
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

// formatTable returns a table that has a column for each operator after those with the headings.
func formatTable(headings []string, rows [][]string) string {
	heading := slices.Clone(headings)
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

// TestFaultyTwins runs one point of the contract with a project and with each of its mutants, which only the mutants may fail.
func TestFaultyTwins(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	_, root := page(t)
	patches, err := filepath.Glob("mutants/*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, operator := range twins {
		if operator.need == nil { // the suite of the chapter has mutants of the operator in Go
			continue
		}
		mutants := slices.DeleteFunc(slices.Clone(patches), func(patch string) bool {
			text, err := os.ReadFile(patch)
			return err != nil || !strings.Contains(string(text), "\n--- a/"+operator.directory+"/")
		})
		if len(mutants) == 0 {
			t.Errorf("no mutant changes %s", operator.directory)
		}
		for _, patch := range mutants {
			t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) { operator.fails(t, root, patch) })
		}
	}
}

// fails checks that a point of the contract holds for the operator's project, but not with the patch.
func (o twin) fails(t *testing.T, root, patch string) {
	t.Helper()
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	point, assertion := headerOf(string(text), "Point"), headerOf(string(text), "Assertion")
	if point == "" || assertion == "" {
		t.Fatalf("%s has no lines Point: and Assertion: at its beginning", patch)
	}
	o.needPrograms(t, root)
	healthy := o.project(root)
	if report, log := o.conformance(t, root, healthy, "--point="+point); !strings.Contains(log, "1 of 1 points hold") {
		t.Fatalf("expected the point %q to hold for the project as it is:\n%s\n%s", point, report, log)
	}
	faulty := filepath.Join(t.TempDir(), "faulty")
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
	report, log := o.conformance(t, root, faulty, "--point="+point)
	NewWithT(t).Expect(log).To(ContainSubstring("0 of 1 points hold"), "expected the point %q not to hold for %s", point, patch)
	NewWithT(t).Expect(report).To(ContainSubstring(assertion))
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
