package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/logtail"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/host/home"
)

// Foreground is a run of the operator that ends with its caller.
type Foreground struct {
	// Cluster names the cluster; there is one foreground run on each at a time.
	Cluster string
	// Config is how an administrator reaches it.
	Config *rest.Config
	// Beside is the supervisor of the cluster's own processes, or nil where it
	// has none. An operator that runs there makes way, and comes back afterwards.
	Beside *supervisor.Supervisor
	// Program is what runs, and Title names it: see [Title].
	Program Program
	Title   string
	// Debugger is attached to the operator, unless its Path is empty.
	Debugger Debugger
	// Resident builds the operator that comes back afterwards.
	Resident func(context.Context) (Program, error)
	// Log gets what the operator writes.
	Log io.Writer
	// Say shows the user a sentence.
	Say func(format string, args ...any)
}

// errGone is the cause of a context that ends because the cluster does.
var errGone = errors.New("the cluster is taken down")

// Run applies the program's CustomResourceDefinitions and runs the operator
// until it ends, which is an error, or until ctx does; then it stops the
// operator and returns ctx's cause. It returns nil when the cluster is taken down. Nothing of it is left, also when the caller is killed.
func (f Foreground) Run(ctx context.Context) (returned error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gone := func() bool { return errors.Is(context.Cause(ctx), errGone) }
	if f.Beside != nil {
		go func() {
			if f.Beside.Closing(ctx) == nil {
				cancel(errGone)
			}
		}()
	}
	defer func() {
		if gone() { // whatever could not be done in it has gone, too
			f.Say("the cluster %s is taken down: the operator has been stopped", f.Cluster)
			returned = nil
		}
	}()

	state, err := home.State()
	if err != nil {
		return err
	}
	// A supervisor of its own: the cluster's outlives us.
	sup, err := supervisor.Start(ctx, supervisor.Options{Dir: filepath.Join(state, "run", f.Cluster)})
	if errors.Is(err, supervisor.ErrRunning) {
		return fmt.Errorf("another terminal runs the operator on the cluster %s: stop it there with Ctrl-C", f.Cluster)
	}
	if err != nil {
		return err
	}
	orderly := context.WithoutCancel(ctx)
	// The log is read to its end before it goes.
	defer func() { returned = errors.Join(returned, sup.Shutdown(orderly)) }()

	// Not before it is certain that no other terminal runs an operator, whose CustomResourceDefinitions say how to reach it.
	if err := install.CRDs(ctx, f.Config, f.Program.Manifests); err != nil {
		return err
	}

	if f.Beside != nil {
		makesWay, err := isRunning(ctx, f.Beside)
		if err != nil {
			return err
		}
		if makesWay {
			f.Say("the operator that ran beside the cluster makes way, and comes back afterwards")
			if err := f.Beside.Stop(ctx, Name); err != nil {
				return err
			}
			// A new start, not a restart of the same process: webhooks lead to the process that was started last.
			defer func() {
				if gone() {
					return
				}
				resident, err := f.Resident(orderly)
				if err == nil {
					_, err = Ensure(orderly, f.Config, f.Beside, resident)
				}
				returned = errors.Join(returned, err)
			}()
		}
	}

	logging, stopLogging := context.WithCancel(orderly)
	var logs errgroup.Group
	follow := func(process string) {
		logs.Go(func() error {
			return logtail.Follow(logging, &withoutProbes{Writer: f.Log}, sup.LogFile(process), 0)
		})
	}
	follow(Name)
	if f.Debugger.Path != "" {
		follow(debuggerName)
	}
	defer func() {
		stopLogging()
		returned = errors.Join(returned, logs.Wait())
	}()

	running, err := start(ctx, f.Config, sup, f.Program, f.Beside != nil, f.changes()...)
	if err != nil {
		return err
	}
	defer func() {
		if !gone() {
			returned = errors.Join(returned, running.RemoveWebhooks(orderly))
		}
	}()
	if f.Debugger.Path != "" {
		if err := f.attach(ctx, sup); err != nil {
			return err
		}
		f.Say("the operator waits for a debugger to connect, and to continue; Ctrl-C stops it")
	} else if err := f.sayReady(ctx, sup); err != nil {
		return err
	}
	exit, err := sup.Wait(ctx, Name)
	if err == nil {
		return fmt.Errorf("the operator %s", exit)
	}
	if ctx.Err() == nil {
		return err
	}
	if gone() { // it would try to give its lease back, to nobody
		return errors.Join(detach(orderly, sup), sup.Kill(orderly, Name))
	}
	return errors.Join(context.Cause(ctx), detach(orderly, sup), sup.Stop(orderly, Name))
}

// sayReady says that the operator is ready and, if it has to wait for its lease, who holds that. It returns when the operator leads or exits,
// or when ctx is done.
func (f Foreground) sayReady(ctx context.Context, sup *supervisor.Supervisor) error {
	var awaited *client.ObjectKey
	err := Lead(ctx, f.Config, sup, f.Program.Manifests, func(lease client.ObjectKey, holder string) {
		if awaited == nil {
			f.Say("%s is ready, and waits for the lease %s, which %s holds; Ctrl-C stops it", f.Title, lease, holder)
		} else {
			f.Say("the operator still waits for the lease %s, which %s holds now", lease, holder)
		}
		awaited = &lease
	})
	select {
	case <-ctx.Done():
		return nil // the caller stops the operator
	default:
	}
	switch {
	case err != nil:
		return err
	case awaited == nil:
		f.Say("%s is ready; Ctrl-C stops it", f.Title)
	default:
		if running, err := isRunning(ctx, sup); err != nil || !running {
			return err
		}
		f.Say("the operator leads: it has acquired the lease %s", awaited)
	}
	return nil
}
