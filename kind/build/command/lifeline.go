package command

import (
	"errors"
	"io"
	"os"
	"time"
)

// errGone is the cause of a context that is done because nobody waits any more.
// Whoever started this process may be gone in ways that no signal reports: killed,
// or done without waiting.
var errGone = errors.New("the process that asked for this is gone")

// watchInput calls gone at the end of input. The process at its other end needs
// only to hold a pipe open: the pipe ends with it, in whatever way it exits.
func watchInput(input io.Reader, gone func(error)) {
	// Whatever is sent has no meaning; only the end has.
	_, _ = io.Copy(io.Discard, input)
	gone(errGone)
}

// watchParent calls gone when this process has another parent than it had at the
// start. No event reports that on every platform, so it looks.
func watchParent(parent int, gone func(error)) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			gone(errGone)
			return
		}
	}
}
