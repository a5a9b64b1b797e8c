package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// debuggerName is the name of the debugger's process and of its log.
const debuggerName = "debugger"

// Debugger is Delve, without a terminal of its own: editors and `dlv connect` connect to it.
type Debugger struct {
	// Path is Delve's executable.
	Path string
	// Address is the host:port that it listens on.
	Address string
}

// changes are how an operator runs that is to be debugged. It may be held for longer than a leader may be silent, and would stop
// when it goes on. So it runs without leader election, if it has that.
func (f Foreground) changes() []runner.Change {
	if f.Debugger.Path == "" {
		return nil
	}
	changes := []runner.Change{runner.Traceable}
	manager, err := f.Program.Manifests.Manager() // runner.Start returns the same error
	if err == nil && slices.Contains(manager.Args, "--leader-elect") {
		changes = append(changes, runner.WithArgs("--leader-elect=false"))
	}
	return changes
}

// attach attaches the debugger to the operator, and so holds it until somebody connects to the debugger and continues. Delve prints
// where it listens, or why it can't attach.
func (f Foreground) attach(ctx context.Context, sup *supervisor.Supervisor) error {
	process, found, err := sup.Find(ctx, Name)
	if err != nil {
		return err
	}
	if !found {
		return errors.New("attach the debugger: the operator does not run")
	}
	err = sup.Run(ctx, supervisor.Process{
		Name: debuggerName,
		Path: f.Debugger.Path,
		Args: []string{"attach", strconv.Itoa(process.PID), "--headless", "--listen=" + f.Debugger.Address, "--accept-multiclient"},
		// It has to remove its breakpoints before it leaves.
		Grace: 10 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("start the debugger %s: %w", f.Debugger.Path, err)
	}
	go func() {
		if exit, err := sup.Wait(ctx, debuggerName); err == nil {
			f.Say("the debugger %s: the operator runs on without it", exit)
		}
	}()
	return nil
}

// detach ends the debugger, if there is one. It lets the operator go on, which could not stop while it is held.
func detach(ctx context.Context, sup *supervisor.Supervisor) error {
	if _, found, err := sup.Find(ctx, debuggerName); err != nil || !found {
		return err
	}
	return sup.Stop(ctx, debuggerName)
}
