package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

// ErrRunning is the error for a directory in which a supervisor runs.
var ErrRunning = errors.New("a supervisor is running there")

// ErrNotRunning is the error for a directory in which no supervisor runs.
var ErrNotRunning = errors.New("no supervisor is running there")

const lockFile = "lock"

// acquire makes the directory dir and takes its lock. The kernel drops the lock
// when the last holder ends, however it ends, so a lock that is held means a
// supervisor that lives; no process id is trusted for that. The error is
// ErrRunning when somebody else has it.
func acquire(dir string) (*os.File, error) {
	for {
		held, err := lockIn(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return held, err
		}
		held, err = makeLocked(dir)
		if !errors.Is(err, fs.ErrExist) {
			return held, err
		}
		// Somebody else was quicker, or the directory is not a supervisor's: it would be removed in the end.
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == lockFile }) {
			return nil, fmt.Errorf("%s is not empty and was not made by a supervisor: name a directory that does not exist yet", dir)
		}
	}
}

// makeLocked makes the directory dir, which may exist as long as it is empty, with
// a lock that is held from the start: Clean takes a lock that nobody holds for a
// dead supervisor's. The error is fs.ErrExist when something is in the directory.
func makeLocked(dir string) (_ *os.File, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(made)
		}
	}()
	if err := os.WriteFile(filepath.Join(made, lockFile), nil, 0o600); err != nil {
		return nil, err
	}
	held, err := lockIn(made)
	if err != nil {
		return nil, err
	}
	// Unlike os.Rename it replaces an empty directory.
	if err := syscall.Rename(made, dir); err != nil {
		_ = held.Close()
		if errors.Is(err, syscall.ENOTEMPTY) {
			err = fs.ErrExist // as EEXIST is already
		}
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	return held, nil
}

// lockIn takes the lock of a directory that is there.
func lockIn(dir string) (*os.File, error) {
	file, err := lock.Exclusive(filepath.Join(dir, lockFile), 0)
	if errors.Is(err, lock.ErrHeld) {
		return nil, fmt.Errorf("%s: %w", dir, ErrRunning)
	}
	return file, err
}

// remove takes the directory of a group away. The caller holds its lock. The
// rename makes it vanish at once: a new group of the same name starts in a
// directory of its own, not in one that is half gone.
func remove(dir string) error {
	gone, err := os.MkdirTemp(filepath.Dir(dir), ".gone-")
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(gone, "dir")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(gone))
	}
	return os.RemoveAll(gone)
}
