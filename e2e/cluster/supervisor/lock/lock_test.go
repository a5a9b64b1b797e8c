package lock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

func TestHolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := lock.Exclusive(path, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	take := func(how func(string, int) (*os.File, error)) *os.File {
		t.Helper()
		file, err := how(path, os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	one := take(lock.Exclusive)
	if _, err := lock.Exclusive(path, os.O_CREATE); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	waited := make(chan error)
	go func() {
		_, err := lock.Shared(path, 0)
		waited <- err
	}()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	one.Close()
	if err := <-waited; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock that has gone: %v", err)
	}

	one, two := take(lock.Shared), take(lock.Shared)
	if _, err := lock.Exclusive(path, 0); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("alone, beside two holders: %v", err)
	}
	one.Close()
	two.Close()
	take(lock.Exclusive).Close()
}
