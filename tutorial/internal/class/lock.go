package class

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
	"github.com/example/operator-testbed/e2e/interrupt"
)

const (
	lockFile = ".lock"
	// workDir has what is not finished. It is on the same disk as what it becomes, for a rename to be enough.
	workDir = ".work"
)

// Lock keeps other commands from changing a class until unlock is called or the process exits. command is what they say who holds
// it. What a command that was interrupted has left unfinished is removed.
func Lock(dir, command string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	held, err := lock.Exclusive(path, os.O_CREATE)
	if errors.Is(err, lock.ErrHeld) {
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%s is being changed by %s: wait for it to finish", dir, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return nil, Explain(context.Background(), err)
	}
	holder := fmt.Sprintf("%s (process %d, since %s)\n", command, os.Getpid(), time.Now().Format(time.TimeOnly))
	if err := errors.Join(held.Truncate(0), writeAt(held, holder), os.RemoveAll(filepath.Join(dir, workDir))); err != nil {
		_ = held.Close()
		return nil, Explain(context.Background(), err)
	}
	return func() {
		// The next holder removes what can't be removed now.
		_ = os.RemoveAll(filepath.Join(dir, workDir))
		// Closing is not enough while a process that is being started has the file, too.
		_ = syscall.Flock(int(held.Fd()), syscall.LOCK_UN)
		_ = held.Close()
	}, nil
}

func writeAt(file io.WriterAt, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// Explain returns the error of a command with what to do about it, where that is not about the class.
func Explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupt.Explain(ctx, err, "what was finished is kept, and the same command does the rest")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk is full: free some space and type the same again; what was finished is kept (%w)", err)
	}
	return err
}

// replace makes to what from is.
func replace(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(from, to)
}
