// Command testbed brings clusters on this machine up and down, and runs the
// operator on them: up, down, demo and more. Learners and teachers use it too:
// lab start, lab class new and more. The targets of the Makefile call it.
//
// Exit codes: 0 done; 1 failed; 2 called wrongly, or a grader that could not
// grade; 128 and the signal's number when stopped by one, so 130 after Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/tutorial/lab"
)

func main() {
	lab.Main()
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
	ctx, stop := interrupt.Context(context.Background())
	defer stop()
	return exit(ctx, execute(ctx))
}

// exit prints why the command failed, if it did, and returns the exit code.
func exit(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	var bySignal interrupt.SignalError
	if errors.As(context.Cause(ctx), &bySignal) && !errors.As(err, new(*interrupt.Error)) {
		// What failed because of the signal says nothing that the user does not know.
		err = bySignal
	}
	if !errors.Is(err, lab.ErrPrinted) {
		fmt.Fprintln(os.Stderr, "testbed:", conformance.Escape(err.Error())) // it may quote an operator of another author
	}
	var wrong usageError
	switch {
	case bySignal.Signal != 0:
		return 128 + int(bySignal.Signal)
	case errors.As(err, &wrong), errors.As(err, new(lab.GraderError)):
		return 2
	default:
		return 1
	}
}
