package mutant_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant"
)

// operator is a program that prints what it does, and its manifests.
var operator = map[string]string{
	"go.mod":             "module example.com/operator\n",
	"cmd/main.go":        "package main\n\nfunc main() { println(two()) }\n",
	"cmd/two.go":         "package main\n\nconst one = 1\n\nfunc two() int { return one + one }\n",
	"config/number.yaml": "number: 2\n",
}

// faults are mutants of it, by name, as the file that they change and what is in it then.
var faults = map[string]struct{ file, text string }{
	"body":      {"cmd/two.go", "package main\n\nconst one = 1\n\nfunc two() int { return 3 }\n"},
	"main":      {"cmd/main.go", "package main\n\nfunc main() { println(7) }\n"},
	"constant":  {"cmd/two.go", "package main\n\nconst one = 2\n\nfunc two() int { return one + one }\n"},
	"manifest":  {"config/number.yaml", "number: 3\n"},
	"undefined": {"cmd/two.go", "package main\n\nconst one = 1\n\nfunc two() int { return unknown }\n"},
}

// prepare prepares the mutants of those names and returns their trials by name.
func prepare(t *testing.T, alone bool, names ...string) (healthy string, trials map[string]*mutant.Trial) {
	t.Helper()
	root := t.TempDir()
	for file, text := range operator {
		write(t, filepath.Join(root, file), text)
	}
	var mutants []mutant.Mutant
	for _, name := range names {
		f := faults[name]
		mutants = append(mutants, mutant.Mutant{Name: name, Files: []string{f.file}, Content: map[string][]byte{f.file: []byte(f.text)}})
	}
	suite := mutant.Suite{Root: root, Package: "./cmd", Config: "config"}
	healthy, all, err := suite.Prepare(t.Context(), mutants, t.TempDir(), alone)
	if err != nil {
		t.Fatal(err)
	}
	trials = map[string]*mutant.Trial{}
	for trial := range all {
		trials[trial.Mutant.Name] = trial
	}
	return healthy, trials
}

// prints returns what the operator of a trial prints.
func prints(t *testing.T, env []string) string {
	t.Helper()
	for _, variable := range env {
		if path, ok := strings.CutPrefix(variable, "OPERATOR="); ok {
			run := exec.CommandContext(t.Context(), path)
			run.Env = env
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(out))
		}
	}
	t.Fatalf("no OPERATOR in %q", env)
	return ""
}

func TestPrepare(t *testing.T) {
	g := NewWithT(t)
	healthy, trials := prepare(t, false, "body", "main", "constant", "manifest")
	for name, want := range map[string]struct {
		prints string
		alone  bool
	}{"body": {"3", false}, "main": {"7", false}, "constant": {"4", true}, "manifest": {"2", false}} {
		trial := trials[name]
		g.Expect(trial.Err).NotTo(HaveOccurred(), name)
		g.Expect(trial.Alone != nil).To(Equal(want.alone), "%s: %v", name, trial.Alone)
		g.Expect(prints(t, mutant.EnvOf(trial))).To(Equal(want.prints), name)
		if !want.alone {
			g.Expect(mutant.EnvOf(trial)).To(ContainElement("OPERATOR=" + healthy))
		}
	}
	g.Expect(prints(t, []string{"OPERATOR=" + healthy})).To(Equal("2"))
	g.Expect(mutant.EnvOf(trials["manifest"])).To(ContainElement(HavePrefix("MANIFESTS=")))
}

func TestPrepareAlone(t *testing.T) {
	g := NewWithT(t)
	healthy, trials := prepare(t, true, "body", "manifest")
	g.Expect(prints(t, mutant.EnvOf(trials["body"]))).To(Equal("3"))
	g.Expect(mutant.EnvOf(trials["body"])).NotTo(ContainElement("OPERATOR="+healthy), "it would not be the patch that is tried")
	g.Expect(mutant.EnvOf(trials["manifest"])).To(ContainElement("OPERATOR=" + healthy))
}

// One that does not compile is a fault of its own, and keeps no other from being tried.
func TestPrepareWhatDoesNotCompile(t *testing.T) {
	g := NewWithT(t)
	_, trials := prepare(t, false, "body", "undefined")
	g.Expect(trials["body"].Err).NotTo(HaveOccurred())
	g.Expect(trials["body"].Alone).To(MatchError(ContainSubstring("do not compile together")))
	g.Expect(prints(t, mutant.EnvOf(trials["body"]))).To(Equal("3"))
	g.Expect(trials["undefined"].Err).To(MatchError(ContainSubstring("undefined: unknown")))
}
