// Package lock lets one process at a time change a directory.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Acquire gives this process alone the right to change a directory, which it
// makes if there is none, and an empty directory in it for unfinished files: what
// a process that was killed has left there is removed. If another process holds
// the lock, Acquire names that process to waiting, and waits.
//
// Release removes the unfinished files and the lock. The lock is the operating
// system's, so it also goes when the process exits, in whatever way.
func Acquire(ctx context.Context, dir string, waiting func(holder string)) (work string, release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", nil, err
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		waiting(holder(f))
		err = wait(ctx, f)
	}
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	// For those who wait. Nothing depends on it, so nothing fails over it. Of a
	// constant length, so that nothing of a longer number is left.
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-19d\n", os.Getpid()), 0)
	work = filepath.Join(dir, "work")
	release = func() {
		// The next holder removes what can't be removed now.
		_ = os.RemoveAll(work)
		_ = f.Close()
	}
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o755)); err != nil {
		release()
		return "", nil, err
	}
	return work, release, nil
}

// wait blocks until the lock on f is ours, or ctx is done. The system call can't
// be called off: then f is closed as soon as the lock comes.
func wait(ctx context.Context, f *os.File) error {
	locked := make(chan error)
	go func() {
		err := flock(f, syscall.LOCK_EX)
		select {
		case locked <- err:
		case <-ctx.Done():
			_ = f.Close()
		}
	}()
	select {
	case err := <-locked:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder is the process whose id a lock file holds.
func holder(f *os.File) string {
	var pid int
	if _, err := fmt.Fscan(io.NewSectionReader(f, 0, 20), &pid); err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
