// Package operator_test holds the tests of the operator's directory as a whole.
package operator_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tools is the module that pins the programs that the Makefile calls.
const tools = "../scripts/tools"

// The generated files are up to date with `make generate manifests`. The targets run on a copy, so the test reports which files
// are stale and leaves updating them to you.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	module := moduleRoot(t)
	operator := filepath.Join(t.TempDir(), "module", "operator")
	for _, directory := range []string{module, tools} {
		for _, name := range []string{"go.mod", "go.sum"} {
			copyFile(t, filepath.Join(directory, name), filepath.Join(operator, directory, name))
		}
	}
	for name := range files(t, ".") {
		copyFile(t, name, filepath.Join(operator, name))
	}
	command := exec.CommandContext(t.Context(), "make", "--silent", "generate", "manifests")
	command.Dir = operator
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}

	for _, directory := range []string{"api", "config"} {
		have := files(t, directory)
		want := files(t, filepath.Join(operator, directory))
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s is stale: run `make generate manifests` (-generated +in the repository):\n%s", directory, diff)
		}
	}
}

// moduleRoot returns the root of the operator's module, seen from here: the operator may be a part of a module, or a whole one.
func moduleRoot(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Rel(here, filepath.Dir(strings.TrimSpace(string(output))))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// files returns the text of every file below directory, by its path relative to directory.
func files(t *testing.T, directory string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "bin" || path == "dist" || path == ".git"):
			return fs.SkipDir // output of `make build` and `make build-installer`, and git's own files
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
