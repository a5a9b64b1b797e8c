// Package interrupt ends a program's work when somebody asks it to stop, and says what became of the work.
package interrupt

import (
	"context"
	"errors"
	"fmt"
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

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal syscall.Signal }

func (e SignalError) Error() string {
	if e.Signal == syscall.SIGINT {
		return "stopped by Ctrl-C"
	}
	return fmt.Sprintf("stopped by a signal (%v)", e.Signal)
}

// Context returns a context that ends at the first of [Signals], with a [SignalError] as its cause. That leaves the program time to put
// things in order; a second signal does not.
func Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, Signals()...)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(SignalError{Signal: s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Error says why work ended early, and what became of it.
type Error struct {
	Cause  error
	Became string
}

func (e *Error) Error() string { return e.Cause.Error() + ": " + e.Became }

func (e *Error) Unwrap() error { return e.Cause }

// Explain returns err, or, if ctx has ended, an [Error] with its cause and what became of the work, unless err is one already.
func Explain(ctx context.Context, err error, became string) error {
	if ctx.Err() == nil || errors.As(err, new(*Error)) {
		return err
	}
	return &Error{Cause: context.Cause(ctx), Became: became}
}
