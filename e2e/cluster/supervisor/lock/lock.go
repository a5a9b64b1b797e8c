// Package lock has locks that a process holds until it lets go of them or ends, however it ends: the kernel drops them.
package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrHeld says that another holder has the lock.
var ErrHeld = errors.New("the lock is held")

// Exclusive opens a file and takes its lock for one holder. flags is added to those for opening the file, such as os.O_CREATE.
// Closing the file drops the lock. The error is ErrHeld where somebody else has it, and fs.ErrNotExist where the file was removed
// before it was locked: a holder may end the lock for good.
func Exclusive(path string, flags int) (*os.File, error) {
	return take(path, flags, syscall.LOCK_EX|syscall.LOCK_NB)
}

// Shared is Exclusive for a lock that many may hold at once. It waits for one that is held exclusively.
func Shared(path string, flags int) (*os.File, error) { return take(path, flags, syscall.LOCK_SH) }

func take(path string, flags, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", path, ErrHeld)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Its holder may have removed the file after we opened it: then we hold a lock that nobody else can see.
	ours, err := file.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(ours, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
