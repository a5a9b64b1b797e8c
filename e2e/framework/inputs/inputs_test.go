package inputs_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/framework/inputs"
	"github.com/example/operator-testbed/e2e/reaper"
)

func TestMain(m *testing.M) { os.Exit(reaper.Run(m)) }

// suite is a test that does with a Set what a suite does.
const suite = `package suite

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"example.com/project/inputs"
)

var set inputs.Set

func TestMain(m *testing.M) {
	before := inputs.Wanted() // as a suite asks, before the flags are parsed
	if _, _, err := set.AddProgram(context.Background(), ".", "../operator/cmd"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := set.AddTree("../operator/config"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if wanted, _ := os.LookupEnv("WANTED"); wanted != "" && (wanted != fmt.Sprint(before) || wanted != fmt.Sprint(inputs.Wanted())) {
		fmt.Fprintln(os.Stderr, "expected that the result is kept:", wanted)
		os.Exit(1)
	}
	if meanwhile, _ := os.LookupEnv("MEANWHILE"); meanwhile != "" { // after the last test, which nothing sees
		_ = os.WriteFile(meanwhile, []byte("package controller\n\n// It was changed meanwhile.\n"), 0o600)
		then := time.Now().Add(-time.Hour) // or it would be too new for the Go command
		_ = os.Chtimes(meanwhile, then, then)
	}
	if set.Beyond() != "" || len(set.Changed()) > 0 {
		_ = inputs.Discard()
	}
	os.Exit(code)
}

func TestFeature(t *testing.T) {
	set.Read()
	inputs.Variables("SEED")
	if os.Getenv("SEED") == "13" {
		t.Fatal("it fails with this seed")
	}
}
`

// project is a module with an operator and a suite.
type project struct {
	// module is its own: for the Go command, test binaries with the same content are the same test.
	module string
	dir    string
	flags  []string // of go test
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{module: "example.com/" + strings.ToLower(t.Name()), dir: t.TempDir()}
	own, err := os.ReadFile("inputs.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod":                                   "module example.com/project\n\ngo 1.26.0\n",
		"inputs/inputs.go":                         string(own),
		"operator/cmd/main.go":                     "package main\n\nimport \"example.com/project/operator/internal/controller\"\n\nfunc main() { controller.Run() }\n",
		"operator/internal/controller/run.go":      "package controller\n\nimport _ \"embed\"\n\n//go:embed data.txt\nvar data string\n\nfunc Run() { println(data) }\n",
		"operator/internal/controller/data.txt":    "data\n",
		"operator/internal/controller/run_test.go": "package controller\n",
		"operator/internal/unused/unused.go":       "package unused\n",
		"operator/config/manager/manager.yaml":     "kind: Deployment\n",
		"suite/mutants/one.patch":                  "+ a fault\n",
		"suite/suite_test.go":                      suite,
	} {
		p.write(t, name, content)
	}
	return p
}

// write writes a file whose last change seems to be a while ago: the Go command keeps no result that depends on a file of the last two
// seconds.
func (p *project) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	content = strings.ReplaceAll(content, "example.com/project", p.module)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.age(t)
}

// age lets every file and directory that was changed just now seem older, each time by another time.
func (p *project) age(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) < time.Hour {
			then := time.Now().Add(-2 * time.Hour)
			err = os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// test runs the suite, and reports whether the Go command reused a result.
func (p *project) test(t *testing.T, env ...string) (cached bool, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append(append([]string{"test", "-vet=off", "-timeout=0"}, p.flags...), "./suite")...)
	command.Dir = p.dir
	command.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") }), "GOWORK=off", "GOFLAGS=-trimpath")
	command.Env = append(command.Env, env...)
	output, err := command.CombinedOutput()
	t.Logf("%s", bytes.TrimSpace(output))
	return bytes.Contains(output, []byte("(cached)")), err
}

// expect runs the suite.
func (p *project) expect(t *testing.T, want bool, after string, env ...string) {
	t.Helper()
	got, err := p.test(t, env...)
	if err != nil || got != want {
		t.Errorf("after %s: expected that the result is reused: %t, got %t, %v", after, want, got, err)
	}
}

// TestReuse changes what a result depends on, and what it doesn't.
func TestReuse(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.expect(t, false, "nothing: it is the first time")
	p.expect(t, true, "no change")
	for name, content := range map[string]string{
		"operator/cmd/main.go":                  "package main\n\nimport \"example.com/project/operator/internal/controller\"\n\nfunc main() { controller.Run() } // changed\n",
		"operator/internal/controller/data.txt": "other data\n",
		"operator/internal/controller/new.go":   "package controller\n\nvar _ = 1\n",
		"operator/config/manager/manager.yaml":  "kind: Deployment # changed\n",
		"operator/config/manager/new.yaml":      "kind: Service\n",
		"go.mod":                                "module example.com/project\n\ngo 1.26.0\n\n// changed\n",
	} {
		p.write(t, name, content)
		p.expect(t, false, "a change of "+name)
		p.expect(t, true, "no change")
	}
	for name, content := range map[string]string{
		"operator/internal/unused/unused.go":       "package unused // changed\n",
		"operator/internal/controller/run_test.go": "package controller // changed\n",
		"suite/mutants/one.patch":                  "+ another fault\n",
	} {
		p.write(t, name, content)
		p.expect(t, true, "a change of "+name)
	}
	p.expect(t, false, "another seed", "SEED=7")
	p.expect(t, true, "the same seed", "SEED=7")
	for range 2 {
		if cached, err := p.test(t, "SEED=13"); err == nil || cached {
			t.Errorf("expected a failure that is never reused, got %t, %v", cached, err)
		}
	}
}

// TestWanted asks the Go command to keep no result.
func TestWanted(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.expect(t, false, "nothing", "WANTED=true")
	p.flags = []string{"-count=1"}
	p.expect(t, false, "nothing, with -count=1", "WANTED=false")
}

// TestChangedMeanwhile changes a file while the suite runs: its result is about a mixture.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(t, "operator/internal/controller/changing.go", "package controller\n")
	meanwhile := "MEANWHILE=" + filepath.Join(p.dir, "operator", "internal", "controller", "changing.go")
	p.expect(t, false, "nothing", meanwhile)
	p.expect(t, false, "a change during the last run")
	p.expect(t, true, "no change")
}

// TestBeyond compiles an operator from a directory that the Go command does not look at.
func TestBeyond(t *testing.T) {
	t.Parallel()
	p, other := newProject(t), t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/other\n\ngo 1.26.0\n", "other.go": "package other\n"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.write(t, "go.mod", "module example.com/project\n\ngo 1.26.0\n\nrequire example.com/other v0.0.0\n\nreplace example.com/other => "+other+"\n")
	p.write(t, "operator/cmd/main.go", "package main\n\nimport _ \"example.com/other\"\n\nfunc main() {}\n")
	p.expect(t, false, "nothing")
	p.expect(t, false, "nothing, with a module that is a directory")
}

// TestSet lists what a program is compiled from.
func TestSet(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var set inputs.Set
	module, root, err := set.AddProgram(t.Context(), filepath.Join(p.dir, "suite"), "../operator/cmd")
	if err != nil {
		t.Fatal(err)
	}
	wantRoot, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if module != p.module || root != wantRoot {
		t.Errorf("expected the module and its directory %s, got %s in %s", p.dir, module, root)
	}
	var got []string
	for _, path := range set.Paths() {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	want := []string{"go.mod", "operator/cmd", "operator/cmd/main.go", "operator/internal/controller", "operator/internal/controller/data.txt", "operator/internal/controller/run.go"}
	if !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
	if changed := set.Changed(); len(changed) > 0 {
		t.Errorf("expected no change, got %q", changed)
	}
	if _, _, err := set.AddProgram(t.Context(), p.dir, "./nowhere"); err == nil || !strings.Contains(err.Error(), "./nowhere") {
		t.Errorf("expected an error that names ./nowhere, got %v", err)
	}
	if err := set.AddTree(filepath.Join(p.dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("expected an error for what does not exist, got %v", err)
	}
}
