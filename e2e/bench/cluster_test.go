package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// Figures of a release and of what was compiled here can't be compared without knowing which is which.
func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	if got := origin(dir); got != "compiled" {
		t.Errorf("without a record it is %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "kube-apiserver.json"), []byte(`{"origin": "https://dl.k8s.io/x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := origin(dir); got != "downloaded from https://dl.k8s.io/x" {
		t.Errorf("a release is %q", got)
	}
}
