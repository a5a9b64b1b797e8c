package eject_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/eject"
)

const root = "../../.."

func TestEjectNeedsAnEmptyDirectory(t *testing.T) {
	g := NewWithT(t)
	to := t.TempDir()
	mine := filepath.Join(to, "mine.go")
	g.Expect(os.WriteFile(mine, []byte("package mine\n"), 0o600)).To(Succeed())
	err := eject.Eject(t.Context(), eject.Options{Root: root, Directory: "tutorial/03-controller", Module: "example.com/copy", To: to})
	g.Expect(err).To(MatchError(ContainSubstring("name a new or empty directory")))
	g.Expect(mine).To(BeAnExistingFile())
}

// make DIR='~/copy' passes the tilde on, and a directory called ~ is dangerous to clean up.
func TestEjectRefusesATilde(t *testing.T) {
	err := eject.Eject(t.Context(), eject.Options{Root: root, Directory: "tutorial/03-controller", Module: "example.com/copy", To: "~/copy"})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("write $HOME instead of ~")))
}

func TestEjectLeavesNothingBehindWhenItFails(t *testing.T) {
	g := NewWithT(t)
	to := filepath.Join(t.TempDir(), "copy")
	err := eject.Eject(t.Context(), eject.Options{Root: root, Directory: "tutorial/internal", Module: "not a module", To: to})
	g.Expect(err).To(HaveOccurred())
	g.Expect(to).NotTo(BeAnExistingFile())
}

func TestWithoutGo(t *testing.T) {
	for directory, want := range map[string]bool{
		eject.Operator: false, "tutorial/03-controller": false, "tutorial/18-operator-sdk": false, "tutorial/18-operator-sdk/helm": true, "tutorial/18-operator-sdk/ansible": true,
	} {
		if got := eject.WithoutGo(root, directory); got != want {
			t.Errorf("%s: got %v", directory, got)
		}
	}
}

// A repository that was downloaded as an archive has no .git, and one that another user has cloned is one that git does not trust. What is
// built is not copied in either case.
func TestEjectWithoutGit(t *testing.T) {
	g := NewWithT(t)
	work := t.TempDir()
	repository := filepath.Join(work, "repository")
	tracked := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "go.mod", "go.sum", "scripts/tools", "tutorial/informer-queue")
	tracked.Dir = root
	list, err := tracked.Output()
	g.Expect(err).NotTo(HaveOccurred())
	for file := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(repository, file)), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(repository, file), text, 0o600)).To(Succeed())
	}
	chapterDir := filepath.Join(repository, "tutorial", "informer-queue")
	g.Expect(os.MkdirAll(filepath.Join(chapterDir, "bin"), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(chapterDir, "bin", "manager"), []byte("built"), 0o600)).To(Succeed())

	copies := map[string]string{"downloaded": repository, "cloned": root}
	files := map[string][]string{}
	for name, from := range copies {
		to := filepath.Join(work, name)
		g.Expect(eject.Eject(t.Context(), eject.Options{Root: from, Directory: "tutorial/informer-queue", Module: "example.com/copy", Without: chapter.Own, To: to})).To(Succeed(), name)
		g.Expect(filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
			files[name] = append(files[name], strings.TrimPrefix(path, to))
			return err
		})).To(Succeed())
	}
	g.Expect(files["downloaded"]).To(Equal(files["cloned"]))

	// As git sees a repository of another user.
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	t.Setenv("GIT_DIR", "/nowhere")
	g.Expect(eject.Eject(t.Context(), eject.Options{Root: root, Directory: "tutorial/informer-queue", Module: "example.com/copy", Without: chapter.Own, To: filepath.Join(work, "foreign")})).To(Succeed())
}

// The chapter about Operator SDK holds the same operator several times. Each is a project without the others, and one without Go has
// neither a module nor the tools for Go.
func TestEjectOneOfSeveral(t *testing.T) {
	g := NewWithT(t)
	projects, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "*", "PROJECT"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(projects).To(ContainElement(HaveSuffix(filepath.FromSlash("operator-sdk/helm/PROJECT"))))
	for _, project := range projects {
		inner := filepath.Dir(project)
		outer, name := filepath.Dir(inner), filepath.Base(inner)
		copies := map[string]string{}
		for _, directory := range []string{inner, outer} {
			relative, err := filepath.Rel(root, directory)
			g.Expect(err).NotTo(HaveOccurred())
			copies[directory] = filepath.Join(t.TempDir(), "copy")
			g.Expect(eject.Eject(t.Context(), eject.Options{
				Root: root, Directory: filepath.ToSlash(relative), Module: "example.com/copy", Without: chapter.Own, To: copies[directory],
			})).To(Succeed())
		}
		g.Expect(filepath.Join(copies[outer], "go.mod")).To(BeAnExistingFile())
		g.Expect(filepath.Join(copies[outer], name)).NotTo(BeAnExistingFile())
		for _, file := range []string{"PROJECT", "watches.yaml", "operator", filepath.Join("config", "default", "kustomization.yaml")} {
			g.Expect(filepath.Join(copies[inner], file)).To(BeAnExistingFile())
		}
		for _, file := range []string{"go.mod", "hack", "README.md", "GNUmakefile"} {
			g.Expect(filepath.Join(copies[inner], file)).NotTo(BeAnExistingFile())
		}
		script, err := os.Stat(filepath.Join(copies[inner], "operator"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(script.Mode().Perm()&0o111).NotTo(BeZero(), "the script can be run")
	}
}

// A chapter without a program has a module as well: the grader compiles a submission with that of the solution.
func TestEjectWithoutAProgram(t *testing.T) {
	g := NewWithT(t)
	to := filepath.Join(t.TempDir(), "copy")
	g.Expect(eject.Eject(t.Context(), eject.Options{Root: root, Directory: "tutorial/01-custom-resource", Module: "example.com/copy", Without: chapter.Own, To: to})).To(Succeed())
	g.Expect(filepath.Join(to, "go.mod")).To(BeAnExistingFile())
}

// A copy of the finished operator is a project of its own: it compiles with its tests where there is no repository, names nothing of it, and
// what is generated is what its own Makefile generates. The tests that can read a file pass there, too. The others can't see a difference, so
// they run only where the operator is.
func TestEjectedProjects(t *testing.T) {
	tier.All(t)
	t.Run("operator", func(t *testing.T) {
		t.Parallel()
		// One of its tests runs make generate manifests.
		standsAlone(t, eject.Options{Directory: eject.Operator, Without: eject.OperatorOwn},
			"go build -o bin/manager ./cmd")
	})
	ejectChapters(t, func(name string) bool { return name == typical })
}

// The same is true of each chapter.
func TestEjectedChapters(t *testing.T) {
	tier.Nightly(t)
	ejectChapters(t, func(name string) bool { return name != typical })
}

// typical is the chapter whose copy every change is tried with: the last one with all that chapters have.
const typical = "15-versions"

// ejectChapters looks at copies of the chapters with a Makefile that are chosen.
func ejectChapters(t *testing.T, chosen func(name string) bool) {
	t.Helper()
	makefiles, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "Makefile"))
	if err != nil || len(makefiles) == 0 {
		t.Fatalf("chapters with a Makefile: %q, %v", makefiles, err)
	}
	for _, makefile := range makefiles {
		name := filepath.Base(filepath.Dir(makefile))
		if !chosen(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var commands []string
			if text, err := os.ReadFile(makefile); err != nil || strings.Contains(string(text), "\ngenerate:") {
				commands = append(commands, "make generate manifests")
			}
			standsAlone(t, eject.Options{Directory: "tutorial/" + name, Without: chapter.Own}, commands...)
		})
	}
}

// standsAlone makes a copy, runs the commands in it, and looks at what it is then.
func standsAlone(t *testing.T, o eject.Options, commands ...string) {
	t.Helper()
	g := NewWithT(t)
	o.Root, o.Module, o.To = root, "example.com/copy", filepath.Join(t.TempDir(), "copy")
	g.Expect(eject.Eject(t.Context(), o)).To(Succeed())
	commands = slices.Concat([]string{"git init --quiet", "git add ."}, commands, []string{compile})
	if readers := readers(t, o.To); len(readers) > 0 {
		// The fault explorer reads no file, and takes longer than all the rest. Tests that need an API server skip unless the
		// environment names one.
		commands = append(commands, "go test -vet=off -skip=^TestFaultExplorer "+strings.Join(readers, " "))
	}
	for _, command := range commands {
		run(t, o.To, command)
	}
	g.Expect(run(t, o.To, "git diff")).To(BeEmpty(), "what is generated is stale: run make generate manifests for %s", o.Directory)
	g.Expect(run(t, o.To, "git status --porcelain=v1 --untracked-files")).NotTo(ContainSubstring("?? "), "expected git to ignore what the targets make")
	for file := range strings.FieldsSeq(run(t, o.To, "git ls-files")) {
		text, err := os.ReadFile(filepath.Join(o.To, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(ContainSubstring("example/operator-testbed"), file)
	}
}

// compile compiles everything, tests included, and links nothing, which would take most of the time.
const compile = "go list -export -test ./..."

// readers returns the packages of a copy whose tests import what it takes to read a file.
func readers(t *testing.T, copied string) []string {
	t.Helper()
	var packages []string
	err := filepath.WalkDir(copied, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return slices.Contains(readFiles, spec.Path.Value) }) {
			directory, err := filepath.Rel(copied, filepath.Dir(path))
			packages = append(packages, "./"+filepath.ToSlash(directory))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// readFiles are the imports without which Go code reads no file that it names itself.
var readFiles = []string{
	`"embed"`, `"io/fs"`, `"os"`, `"os/exec"`, `"path/filepath"`, `"sigs.k8s.io/controller-runtime/pkg/envtest"`,
}

// run runs a command in a directory that is in no repository but its own, and returns what it prints.
func run(t *testing.T, directory, command string) string {
	t.Helper()
	words := strings.Fields(command)
	run := exec.CommandContext(t.Context(), words[0], words[1:]...)
	run.Dir = directory
	// With the flags that everything else is compiled with, or all of Kubernetes' libraries would be compiled again.
	run.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath -buildvcs=false -gcflags=all=-dwarf=false", "CGO_ENABLED=0", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
