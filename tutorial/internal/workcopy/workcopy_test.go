package workcopy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/workcopy"
)

const root = "../../.."

func TestEjectNeedsAnEmptyFolder(t *testing.T) {
	g := NewWithT(t)
	to := t.TempDir()
	mine := filepath.Join(to, "mine.go")
	g.Expect(os.WriteFile(mine, []byte("package mine\n"), 0o600)).To(Succeed())
	err := workcopy.Eject(t.Context(), workcopy.Options{Root: root, Folder: "tutorial/04-controller", Module: "example.com/copy", To: to})
	g.Expect(err).To(MatchError(ContainSubstring("name a folder that is new or empty")))
	g.Expect(mine).To(BeAnExistingFile())
}

func TestEjectLeavesNothingBehindWhenItFails(t *testing.T) {
	g := NewWithT(t)
	to := filepath.Join(t.TempDir(), "copy")
	err := workcopy.Eject(t.Context(), workcopy.Options{Root: root, Folder: "tutorial/internal", Module: "not a module", To: to})
	g.Expect(err).To(HaveOccurred())
	g.Expect(to).NotTo(BeAnExistingFile())
}

// A copy of each chapter and of the finished operator is a project of its own: it builds and tests where there is no
// repository, names nothing of it, and what is generated is what its own Makefile generates.
func TestEject(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles operators and runs controller-gen, which takes seconds: leave out -short")
	}
	makefiles, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "Makefile"))
	if err != nil || len(makefiles) == 0 {
		t.Fatalf("chapters with a Makefile: %q, %v", makefiles, err)
	}
	for _, makefile := range makefiles {
		name := filepath.Base(filepath.Dir(makefile))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := []string{"go build ./...", "go test ./..."}
			if text, err := os.ReadFile(makefile); err != nil || strings.Contains(string(text), "\ngenerate:") {
				commands = slices.Insert(commands, 0, "make generate manifests")
			}
			standsAlone(t, workcopy.Options{Folder: "tutorial/" + name, Without: chapter.Own}, commands...)
		})
	}
	t.Run("operator", func(t *testing.T) {
		t.Parallel()
		// Its tests but for the fault explorer, which reads no file: that it finds faults is shown where the operator is, and
		// takes longer than all the rest. One of them runs make generate manifests. Those that need an API server skip unless the environment names one.
		standsAlone(t, workcopy.Options{Folder: workcopy.Operator, Without: workcopy.OperatorOwn},
			"go build -o bin/manager ./cmd", "go test -skip=^TestFaultExplorer ./...")
	})
}

// standsAlone makes a copy, runs the commands in it, and looks at what it is then.
func standsAlone(t *testing.T, o workcopy.Options, commands ...string) {
	t.Helper()
	g := NewWithT(t)
	o.Root, o.Module, o.To = root, "example.com/copy", filepath.Join(t.TempDir(), "copy")
	g.Expect(workcopy.Eject(t.Context(), o)).To(Succeed())
	for _, command := range slices.Concat([]string{"git init --quiet", "git add ."}, commands) {
		run(t, o.To, command)
	}
	g.Expect(run(t, o.To, "git diff")).To(BeEmpty(), "what is generated is stale: run make generate manifests for %s", o.Folder)
	g.Expect(run(t, o.To, "git status --porcelain=v1 --untracked-files")).NotTo(ContainSubstring("?? "), "what a target makes is no source")
	for file := range strings.FieldsSeq(run(t, o.To, "git ls-files")) {
		text, err := os.ReadFile(filepath.Join(o.To, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(ContainSubstring("example/operator-testbed"), file)
	}
}

// run runs a command in a folder that is in no repository but its own, and returns what it prints.
func run(t *testing.T, folder, command string) string {
	t.Helper()
	words := strings.Fields(command)
	run := exec.CommandContext(t.Context(), words[0], words[1:]...)
	run.Dir = folder
	run.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
