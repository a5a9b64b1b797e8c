package lock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLockFileWithoutAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte("not a number\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if pid := holder(f); pid != 0 {
		t.Errorf("the lock is held by process %d, expected 0 for unknown", pid)
	}
}
