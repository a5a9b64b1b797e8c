package mutant_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant"
)

const patch = `Fault: two is three
Test: TestTwo
Assertion: expected 2

--- a/two.go
+++ b/two.go
@@ -1,2 +1,2 @@
 package two
-const Two = 2
+const Two = 3
`

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadTakesTheHeadAndTheFiles(t *testing.T) {
	g := NewWithT(t)
	directory := t.TempDir()
	write(t, filepath.Join(directory, "two-is-three.patch"), patch)
	mutants, err := mutant.Read(directory)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mutants).To(ConsistOf(mutant.Mutant{
		Name: "two-is-three", Fault: "two is three", Test: "TestTwo", Assertion: "expected 2",
		Path: filepath.Join(directory, "two-is-three.patch"), Files: []string{"two.go"},
	}))
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ patch, why string }{
		"no assertion":      {"Fault: f\nTest: T\n\n+++ b/two.go\n", "must give Fault, Test and Assertion"},
		"no file":           {"Fault: f\nTest: T\nAssertion: a\n\n", "it changes no file"},
		"a line of no name": {"something\n\n", "is not `Name: value`"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			write(t, filepath.Join(directory, "m.patch"), tc.patch)
			_, err := mutant.Read(directory)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.why)))
		})
	}
	_, err := mutant.Read(t.TempDir())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("there are no mutants")))
}

func TestApplyLeavesTheRepositoryAlone(t *testing.T) {
	g := NewWithT(t)
	root, directory, work := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(root, "two.go"), "package two\nconst Two = 2\n")
	write(t, filepath.Join(directory, "m.patch"), patch)
	mutants, err := mutant.Read(directory)
	g.Expect(err).NotTo(HaveOccurred())

	broken, err := mutants[0].Apply(t.Context(), root, "operator/config", work)
	g.Expect(err).NotTo(HaveOccurred())
	overlay, err := os.ReadFile(broken.Overlay)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(overlay)).To(ContainSubstring(filepath.Join(root, "two.go")))
	g.Expect(os.ReadFile(filepath.Join(root, "two.go"))).To(ContainSubstring("Two = 2"))
	g.Expect(os.ReadFile(filepath.Join(work, "tree", "two.go"))).To(ContainSubstring("Two = 3"))

	write(t, filepath.Join(root, "two.go"), "package two\nconst Two = 1 + 1\n")
	_, err = mutants[0].Apply(t.Context(), root, "operator/config", t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("no longer fits the code")))
}

func TestJudge(t *testing.T) {
	m := mutant.Mutant{Fault: "two is three", Test: "TestTwo", Assertion: "expected 2"}
	for name, tc := range map[string]struct {
		passed bool
		output string
		wrong  string
	}{
		"killed":              {false, "two_test.go:1: expected 2\n--- FAIL: TestTwo", ""},
		"survived":            {true, "ok", "survived: TestTwo passed although two is three"},
		"another assertion":   {false, "panic\n--- FAIL: TestTwo", `was killed by something other than "expected 2"`},
		"an error in a log":   {false, "    two_test.go:1: expected 3\n    artifacts.go:49: the last errors:\n        expected 2\n--- FAIL: TestTwo", `was killed by something other than "expected 2"`},
		"after such an error": {false, "    artifacts.go:49: the last errors:\n        expected 3\n    two_test.go:1: expected 2\n--- FAIL: TestTwo", ""},
		"never came that far": {false, "no cluster: expected 2", "did not reach TestTwo"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(m.Judge(tc.passed, tc.output)).To(Equal(tc.wrong))
		})
	}
}
