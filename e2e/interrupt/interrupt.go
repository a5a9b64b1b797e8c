// Package interrupt knows by which signals somebody asks a program to stop.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals returns the signals that ask a program to stop: SIGINT, SIGTERM, and
// SIGHUP unless it is ignored. nohup ignores it so that a command outlives its
// terminal, and catching it would take that back. Call it before SIGHUP is
// caught.
func Signals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
