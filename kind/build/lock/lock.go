// Package lock lets one process at a time change a folder.
package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Acquire locks a file, which it makes when there is none. When another process
// holds it, it calls waiting with that process's id, 0 if it is unknown. The lock
// is the operating system's: it ends when the file is closed, or the process dies.
func Acquire(ctx context.Context, path string, waiting func(pid int)) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		waiting(holder(f))
		if err := wait(ctx, f); err != nil {
			return nil, err
		}
	case err != nil:
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// For those who wait. Nothing depends on it, so nothing fails over it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// wait blocks until the lock on f is ours, and closes f when ctx ends first. The
// system call can't be called off: then f is closed as soon as the lock comes.
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
		if err != nil {
			_ = f.Close()
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		return nil
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

// holder is the process id that a lock file names.
func holder(f *os.File) int {
	content := make([]byte, 32)
	n, _ := f.ReadAt(content, 0)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(content[:n])))
	if err != nil {
		return 0
	}
	return pid
}
