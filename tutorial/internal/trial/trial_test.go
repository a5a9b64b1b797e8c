package trial_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/mutant/schemata"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/trial"
)

const root = "../../.."

func TestMain(m *testing.M) { os.Exit(reaper.Run(m)) }

// testingChapter returns the chapter whose reader writes tests.
func testingChapter(t *testing.T) (repository string, c chapter.Chapter) {
	t.Helper()
	g := NewWithT(t)
	repository, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	c, err = chapter.Read(filepath.Join(repository, "tutorial", "13-testing"))
	g.Expect(err).NotTo(HaveOccurred())
	return repository, c
}

// same leaves a text as it is.
func same(text string) string { return text }

// built compiles the chapter's tests with these faults.
func built(t *testing.T, faults []mutant.Mutant) (executable string, key trial.Key) {
	t.Helper()
	g := NewWithT(t)
	repository, c := testingChapter(t)
	key, executable = trial.NewKey(), filepath.Join(t.TempDir(), "tests")
	files, err := trial.Files(t.Context(), repository, c, faults, key, same)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(trial.Build(t.Context(), repository, filepath.Join(repository, c.OperatorDirectory()), c, files, executable)).To(Succeed())
	return executable, key
}

// run runs an executable of tests on the operator with a fault, or on the healthy one.
func run(ctx context.Context, executable, dir string, key trial.Key, fault string, env []string, args ...string) (output string, passed bool) {
	command := exec.CommandContext(ctx, executable, args...)
	command.Dir, command.Env = dir, slices.Concat(os.Environ(), []string{"KUBEBUILDER_ASSETS="}, env, []string{schemata.Variable + "=" + key.Value(fault)})
	out, err := command.CombinedOutput()
	return string(out), err == nil
}

// The chapter's own tests pass on the healthy operator. On each other one, the test fails that its patch names. The chapter's suite, which make
// test runs, shows that some test fails.
func TestEachFaultIsNoticed(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	repository, c := testingChapter(t)
	faults, err := trial.Faults(repository, c)
	g.Expect(err).NotTo(HaveOccurred())
	executable, key := built(t, faults)
	output, passed := run(t.Context(), executable, t.TempDir(), key, "", nil)
	g.Expect(passed).To(BeTrue(), output)
	for _, fault := range faults {
		output, passed := run(t.Context(), executable, t.TempDir(), key, fault.Name, nil)
		g.Expect(passed).To(BeFalse(), fault.Name)
		g.Expect(output).To(ContainSubstring("--- FAIL: "+fault.Assertion), fault.Name)
		g.Expect(c.Features).To(HaveKey(fault.Test), fault.Name)
	}
}

// Tests that fail as soon as something chooses a fault fail on the healthy operator, too.
func TestNothingTellsTheHealthyOperatorApart(t *testing.T) {
	g := NewWithT(t)
	repository, c := testingChapter(t)
	faults, err := trial.Faults(repository, c)
	g.Expect(err).NotTo(HaveOccurred())
	key := trial.NewKey()
	values := []string{key.Value("")}
	for _, fault := range faults {
		values = append(values, key.Value(fault.Name))
	}
	g.Expect(values).To(HaveEach(HaveLen(len(values[0]))))
	g.Expect(slices.Compact(slices.Sorted(slices.Values(values)))).To(HaveLen(len(values)))
	g.Expect(trial.NewKey().Value("")).NotTo(Equal(key.Value("")), "another executable has other values")
	files, err := trial.Files(t.Context(), repository, c, faults, key, same)
	g.Expect(err).NotTo(HaveOccurred())
	for name, text := range files {
		for _, fault := range faults {
			g.Expect(string(text)).NotTo(ContainSubstring(fault.Name), name)
		}
	}
}

func TestTestsThatCannotMeetAFault(t *testing.T) {
	c := chapter.Chapter{Tests: "internal/controller"}
	for name, test := range map[string]struct{ file, text, want string }{
		"none":            {"controller.go", "package controller\n", "there are no tests in internal/controller"},
		"another package": {"a_test.go", "package controller_test\n", "a_test.go is of the package controller_test: write your tests in the package that they test, controller"},
		"the package":     {"a_test.go", "package controller\n", ""},
		"no Go":           {"a_test.go", "pack", ""}, // the compiler says so
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(os.MkdirAll(filepath.Join(dir, c.Tests), 0o755)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(dir, c.Tests, test.file), []byte(test.text), 0o600)).To(Succeed())
			if err := trial.Check(dir, c); test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(trial.NoTestsError(test.want)))
			}
		})
	}
}

// A fault that changes more than the package under test is a mistake in the repository.
func TestFaultElsewhere(t *testing.T) {
	repository, c := testingChapter(t)
	elsewhere := mutant.Mutant{Name: "elsewhere", Files: []string{"tutorial/13-testing/cmd/main.go"}}
	_, err := trial.Files(t.Context(), repository, c, []mutant.Mutant{elsewhere}, trial.NewKey(), same)
	NewWithT(t).Expect(err).To(MatchError("the fault elsewhere changes tutorial/13-testing/cmd/main.go: it may change Go files of internal/controller"))
}
