package repository_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/repository"
)

func TestRoot(t *testing.T) {
	top := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(top, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("clone/go.mod", "// A comment.\nmodule github.com/example/operator-testbed\n\ngo 1.26.0\n")
	write("clone/kind/kubernetes/go.mod", "module github.com/example/operator-testbed/kind/kubernetes\n")
	write("elsewhere/go.mod", "module example.com/other\n")

	for _, dir := range []string{"clone", "clone/kind", "clone/kind/kubernetes"} {
		root, err := repository.Root(filepath.Join(top, dir))
		if err != nil || root != filepath.Join(top, "clone") {
			t.Errorf("Root(%s) = %q, %v; want the clone", dir, root, err)
		}
	}
	if root, err := repository.Root(filepath.Join(top, "elsewhere")); err == nil || !strings.Contains(err.Error(), "is not in a clone of operator-testbed") {
		t.Errorf("Root outside of a clone = %q, %v; want a sentence that says so", root, err)
	}
}
