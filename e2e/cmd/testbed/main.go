// Command testbed brings clusters on this machine up and down, and runs the
// operator on them: up, down, demo and more. The targets of the Makefile call it.
//
// Exit codes: 0 done; 1 failed; 2 called wrongly; 128 and the signal's number
// when stopped by one, so 130 after Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/kind/gocommand"
)

func main() {
	supervisor.Main()
	reaper.Main()
	// client-go logs to stderr what it retries. The command reports what fails in its own words.
	klog.SetLogger(logr.Discard())
	if err := gocommand.Setup(); err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		os.Exit(1)
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	return exit(ctx, execute(ctx))
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal syscall.Signal }

func (s stopped) Error() string {
	if s.signal == syscall.SIGINT {
		return "stopped by Ctrl-C"
	}
	return fmt.Sprintf("stopped by a signal (%v)", s.signal)
}

// untilSignal returns a context that ends when somebody wants this program to
// end. That leaves it time to put things in order; a second signal does not.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, interrupt.Signals()...)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(stopped{signal: s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stoppedError says what became of the work that a signal ended.
type stoppedError struct {
	stopped
	became string
}

func (e stoppedError) Error() string { return e.stopped.Error() + ": " + e.became }

func (e stoppedError) Unwrap() error { return e.stopped }

// afterStop returns err, or, if a signal ended ctx, an error that says so and
// what became of the work, unless err says that already.
func afterStop(ctx context.Context, err error, became string) error {
	var bySignal stopped
	if !errors.As(context.Cause(ctx), &bySignal) || errors.As(err, new(stoppedError)) {
		return err
	}
	return stoppedError{stopped: bySignal, became: became}
}

// exit prints why the command failed, if it did, and returns the exit code.
func exit(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	var bySignal stopped
	if errors.As(context.Cause(ctx), &bySignal) && !errors.As(err, new(stoppedError)) {
		// What failed because of the signal says nothing that the user does not know.
		err = bySignal
	}
	fmt.Fprintln(os.Stderr, "testbed:", conformance.Escape(err.Error())) // it may quote an operator of another author
	var wrong usageError
	switch {
	case bySignal.signal != 0:
		return 128 + int(bySignal.signal)
	case errors.As(err, &wrong):
		return 2
	default:
		return 1
	}
}
