package trial_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/trial"
)

var update = flag.Bool("update", false, "write the table of faults and kinds of tests into the chapter's text")

// kinds are the files with the chapter's tests of each kind.
var kinds = [][]string{{"status_test.go", "watches_test.go"}, {"memcached_controller_test.go"}, {"suite_test.go"}}

// ofOperator are the features of the chapter's suite that are about the operator.
const ofOperator = "(TestDefault|TestDelete|TestRepair|TestSize)"

// The chapter's table shows which kinds of its tests notice each fault: those that learners have to notice, and those of the operator that its
// suite notices.
func TestKinds(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	g := NewWithT(t)
	repository, c := testingChapter(t)
	faults, err := trial.Faults(repository, c)
	g.Expect(err).NotTo(HaveOccurred())
	mutants, err := mutant.Read(filepath.Join(repository, c.SuiteDirectory(), "mutants"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, m := range mutants {
		if !slices.ContainsFunc(m.Files, func(file string) bool { return strings.HasSuffix(file, "_test.go") }) {
			faults = append(faults, m)
		}
	}
	inCode := slices.DeleteFunc(slices.Clone(faults), func(m mutant.Mutant) bool { return !strings.HasSuffix(m.Files[0], ".go") })
	executable, key := built(t, inCode)
	trials := prepared(t, faults)
	seen := make([][]bool, len(faults))
	t.Run("each", func(t *testing.T) {
		for i, fault := range faults {
			t.Run(fault.Name, func(t *testing.T) {
				t.Parallel()
				seen[i] = append(noticedByTests(t, fault, executable, key), noticedBySuite(t, trials[i]))
			})
		}
	})
	if t.Failed() {
		return
	}

	var table strings.Builder
	table.WriteString("| in this operator | table | fake | envtest | suite |\n|---|---|---|---|---|\n")
	for i, fault := range faults {
		fmt.Fprintf(&table, "| %s |", fault.Fault)
		for _, noticed := range seen[i] {
			fmt.Fprintf(&table, " %s |", map[bool]string{true: "notices", false: "-"}[noticed])
		}
		table.WriteString("\n")
	}
	page := filepath.Join(repository, c.OperatorDirectory(), "README.md")
	text, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	printed := regexp.MustCompile(`(?m)^\| in this operator \|.*\n(\|.*\n)+`)
	if *update {
		g.Expect(os.WriteFile(page, printed.ReplaceAll(text, []byte(table.String())), 0o644)).To(Succeed())
		return
	}
	g.Expect(string(printed.Find(text))).To(Equal(table.String()), "run this test with -update")
}

// noticedByTests reports which of the kinds of tests notice a fault.
func noticedByTests(t *testing.T, fault mutant.Mutant, executable string, key trial.Key) []bool {
	t.Helper()
	g := NewWithT(t)
	repository, c := testingChapter(t)
	config := c.OperatorDirectory() + "/config"
	broken, err := fault.Apply(t.Context(), repository, config, t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	// The tests read the CustomResourceDefinition from where they find it in the operator.
	operator := t.TempDir()
	dir := filepath.Join(operator, filepath.FromSlash(c.Tests))
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	manifests := broken.Manifests
	if manifests == "" {
		manifests = filepath.Join(repository, config)
	}
	g.Expect(os.Symlink(manifests, filepath.Join(operator, "config"))).To(Succeed())
	assets, err := embedded.Assets(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	env := []string{"KUBEBUILDER_ASSETS=" + assets, "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=5m"}
	var noticed []bool
	for _, files := range kinds {
		pattern := "^(" + strings.Join(namesIn(t, files), "|") + ")$"
		output, passed := run(t.Context(), executable, dir, key, fault.Name, env, "-test.run="+pattern)
		t.Logf("%s: %v: %v\n%s", fault.Name, files, passed, output)
		g.Expect(output).NotTo(Or(BeEmpty(), ContainSubstring("no tests to run")))
		noticed = append(noticed, !passed)
	}
	return noticed
}

// namesIn returns the names of the test functions in some of the chapter's files.
func namesIn(t *testing.T, files []string) []string {
	t.Helper()
	repository, c := testingChapter(t)
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, c.OperatorDirectory(), c.Tests, file), nil, parser.SkipObjectResolution)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, declaration := range parsed.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") {
				names = append(names, function.Name.Name)
			}
		}
	}
	return names
}

// prepared returns the operators with these faults, each with the suite that may notice it.
func prepared(t *testing.T, faults []mutant.Mutant) []*mutant.Trial {
	t.Helper()
	g := NewWithT(t)
	repository, c := testingChapter(t)
	binary, err := runner.BuildSuite(t.Context(), repository, c.SuiteDirectory())
	g.Expect(err).NotTo(HaveOccurred())
	suite := mutant.Suite{
		Root: repository, Directory: filepath.Join(repository, c.SuiteDirectory()), Binary: binary,
		Package: "./" + c.OperatorDirectory() + "/cmd", Config: c.OperatorDirectory() + "/config",
		Env: []string{"CLUSTER=embedded", "TESTBED_TIMEOUT=10s", "TESTBED_TIMEOUT_FAILING=3s", "TESTBED_REPORT=", "TESTBED_FAILURES=", "TESTBED_ARTIFACTS=" + t.TempDir()},
	}
	all := slices.Clone(faults)
	for i := range all {
		all[i].Test = ofOperator
	}
	_, trials, err := suite.Prepare(t.Context(), all, t.TempDir(), false)
	g.Expect(err).NotTo(HaveOccurred())
	return slices.Collect(trials)
}

// noticedBySuite reports whether the suite on a cluster notices a fault.
func noticedBySuite(t *testing.T, trial *mutant.Trial) bool {
	t.Helper()
	g := NewWithT(t)
	g.Expect(trial.Err).NotTo(HaveOccurred())
	result, err := trial.Run(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("%s: the suite: %s\n%s", trial.Mutant.Name, result.Wrong, result.Output)
	g.Expect(result.Output).To(Or(ContainSubstring("--- PASS: "), ContainSubstring("--- FAIL: ")))
	g.Expect(trial.Close()).To(Succeed())
	return !strings.HasPrefix(result.Wrong, "survived")
}
