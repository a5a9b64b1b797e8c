// Package lifeline notices that whoever started this process is gone, in the
// ways that no signal tells: killed, or ended without waiting.
package lifeline

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// ErrGone is the cause of a context that ended because nobody waits any more.
var ErrGone = errors.New("the process that asked for this is gone")

// WatchInput calls gone when input ends. The process at its other end needs
// only to hold a pipe open: the pipe ends with it, however it ends.
func WatchInput(input io.Reader, gone func(error)) {
	go func() {
		// Whatever is sent has no meaning; only the end has.
		_, _ = io.Copy(io.Discard, input)
		gone(ErrGone)
	}()
}

// WatchParent calls gone when this process has another parent than it had at
// the start, until ctx ends.
func WatchParent(ctx context.Context, gone func(error)) {
	parent := os.Getppid()
	go func() {
		// No event tells of a parent's end on every platform, so look.
		look := time.NewTicker(time.Second)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if os.Getppid() != parent {
					gone(ErrGone)
					return
				}
			}
		}
	}()
}
