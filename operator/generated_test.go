// Package operator_test holds the tests of the operator's folder as a whole.
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

// tools is the module that pins the programs which the Makefile calls.
const tools = "../scripts/tools"

// What `make generate manifests` writes is in the repository as it would be written now. The targets are run on a copy, so
// that the test says what is stale and leaves the mending to who changed the source.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("runs controller-gen, which takes seconds: leave out -short")
	}
	module := moduleRoot(t)
	operator := filepath.Join(t.TempDir(), "module", "operator")
	for _, folder := range []string{module, tools} {
		for _, name := range []string{"go.mod", "go.sum"} {
			copyFile(t, filepath.Join(folder, name), filepath.Join(operator, folder, name))
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

	for _, folder := range []string{"api", "config"} {
		have := files(t, folder)
		want := files(t, filepath.Join(operator, folder))
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s is stale: run `make generate manifests` (-generated +in the repository):\n%s", folder, diff)
		}
	}
}

// moduleRoot returns where the module begins that the operator is in, seen from here: it may be a part of a module, or one.
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

// files returns the text of every file below folder, by its path from there.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "bin" || path == "dist" || path == ".git"):
			return fs.SkipDir // what `make build`, `make build-installer` and git leave
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(folder, path)
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
