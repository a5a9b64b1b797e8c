package embedded

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoClone builds the executables in a module that requires the testbed as Go downloads it: without the modules inside it.
func TestNoClone(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"go.mod":         "module example.com/own\n\nrequire github.com/example/operator-testbed v0.0.0\n\nreplace github.com/example/operator-testbed => ./testbed\n",
		"testbed/go.mod": "module github.com/example/operator-testbed\n",
	} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	const want = "testbed is not a clone of operator-testbed"
	if _, err := build(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), AssetsVariable) {
		t.Errorf("got the error %v, expected that %s, and to set %s", err, want, AssetsVariable)
	}
}
