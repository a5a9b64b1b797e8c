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

// A copy of each chapter is a project of its own: it builds and tests where there is no repository, names nothing of it, and
// what is generated is what its own Makefile generates.
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
			g := NewWithT(t)
			to := filepath.Join(t.TempDir(), "copy")
			g.Expect(workcopy.Eject(t.Context(), workcopy.Options{
				Root: root, Folder: "tutorial/" + name, Module: "example.com/copy", To: to,
				Without: chapter.Own,
			})).To(Succeed())
			commands := []string{"git init --quiet", "git add .", "go build ./...", "go test ./..."}
			if text, err := os.ReadFile(makefile); err != nil || strings.Contains(string(text), "\ngenerate:") {
				commands = slices.Insert(commands, 2, "make generate manifests")
			}
			for _, command := range commands {
				run(t, to, command)
			}
			g.Expect(run(t, to, "git diff")).To(BeEmpty(), "what is generated is stale: run `make generate manifests STAGE=%s`", name)
			for file := range strings.FieldsSeq(run(t, to, "git ls-files -- api cmd config internal PROJECT Makefile go.mod")) {
				text, err := os.ReadFile(filepath.Join(to, file))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(text)).NotTo(ContainSubstring("operator-testbed/tutorial"), file)
			}
		})
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
