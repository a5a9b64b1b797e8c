package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/executable"
)

// copyOf copies what scripts/run needs of this repository to a directory with spaces, below a go.work that does not list it.
func copyOf(t *testing.T) string {
	t.Helper()
	above := t.TempDir()
	root := filepath.Join(above, "my projects", "test bed")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(above, "go.work"), []byte("go 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const repository = "../.."
	script, err := os.ReadFile(filepath.Join(repository, "scripts", "run"))
	if err != nil {
		t.Fatal(err)
	}
	sources := regexp.MustCompile(`(?m)^sources='(.*)'$`).FindSubmatch(script)
	if sources == nil {
		t.Fatal("scripts/run does not list what it compiles")
	}
	for _, name := range append(strings.Fields(string(sources[1])), "go.sum", "scripts/run") {
		err := filepath.WalkDir(filepath.Join(repository, name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(repository, path)
			if err != nil {
				return err
			}
			to := filepath.Join(root, relative)
			if entry.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return executable.Write(to, text, 0o700)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestScript runs scripts/run on a machine with the settings that most often break a build. It compiles the program only when a file of it
// is newer.
func TestScript(t *testing.T) {
	t.Parallel()
	root := copyOf(t)
	run := func(arguments ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "scripts/run", arguments...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=vendor", "GO111MODULE=off", "GOWORK=", "GOOS=plan9", "GOARCH=mips", "GOROOT=/nowhere",
			"CDPATH="+root+":/usr", "TERM=dumb")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		return string(out), joined(err, stderr.String())
	}
	hello := func() {
		t.Helper()
		if out, err := run("progress", "greeting", "sh", "-c", `echo "hello $GOFLAGS"`); err != nil || out != "hello -trimpath -buildvcs=false -gcflags=all=-dwarf=false\n" {
			t.Fatalf("%q, %v", out, err)
		}
	}
	built := func() time.Time {
		t.Helper()
		info, err := os.Stat(filepath.Join(root, "bin", "runner"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	hello()
	first := built()
	hello()
	if second := built(); !second.Equal(first) {
		t.Error("the program was compiled again, and nothing has changed")
	}
	source := filepath.Join(root, "scripts", "runner", "report.go")
	later := first.Add(time.Second)
	if err := os.Chtimes(source, later, later); err != nil {
		t.Fatal(err)
	}
	hello()
	if third := built(); third.Equal(first) {
		t.Error("the program was not compiled again after a change")
	}
	if left, err := filepath.Glob(filepath.Join(root, "bin", "runner.*")); err != nil || len(left) > 0 {
		t.Errorf("these are left: %q, %v", left, err)
	}

	// What does not compile does not run as it was before.
	if err := os.WriteFile(source, []byte("package main\n\nvar x int = \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(source, later.Add(time.Hour), later.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if out, err := run("progress", "greeting", "echo", "hello"); err == nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}

// While the program is compiled, lines of progress appear, with the exit code and the output of the command unchanged.
func TestScriptShowsProgress(t *testing.T) {
	t.Parallel()
	root := copyOf(t)
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin, said := t.TempDir(), filepath.Join(t.TempDir(), "said")
	slow := `#!/bin/sh
[ "$1" != build ] || until [ "$(grep -c '^ *[16] s  compiling scripts/runner \.\.\.$' '` + said + `')" = 2 ]; do sleep 0.1; done
exec '` + compiler + `' "$@"
`
	if err := executable.Write(filepath.Join(bin, "go"), []byte(slow), 0o700); err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd := exec.CommandContext(t.Context(), "scripts/run", "progress", "greeting", "echo", "hello")
	cmd.Dir, cmd.Stderr = root, stderr
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TERM=dumb")
	if out, err := cmd.Output(); err != nil || string(out) != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// joined returns an error with what a program has printed about it.
func joined(err error, stderr string) error {
	if err == nil {
		return nil
	}
	return &exec.Error{Name: stderr, Err: err}
}

// TestScriptCannotWrite runs scripts/run where bin can't be written: here, it is a file.
func TestScriptCannotWrite(t *testing.T) {
	t.Parallel()
	root := copyOf(t)
	if err := os.WriteFile(filepath.Join(root, "bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "scripts/run", "progress", "greeting", "echo", "hello")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if want := root + "/bin can't be written: clone the repository into a directory of yours\n"; err == nil || string(out) != want {
		t.Errorf("%v, %q, expected %q", err, out, want)
	}
}
