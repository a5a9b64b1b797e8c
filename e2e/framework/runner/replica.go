package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Replica is one process of an operator. It has ports and a log of its own. All replicas have the same user in the API server.
type Replica struct {
	operator *Operator
	name     string
	at       addresses
	serving  bool // the API server may call its webhooks, if it is ready
	leaving  bool // it is being stopped, which does not show in the endpoints yet
	// withdrawn is true from when that shows, until it has stopped.
	withdrawn bool
	began     bool // the supervisor has a process of this name
	earlier   int  // how much of its log is of earlier runs
}

// newReplica makes a replica of the first name that is free: operator, operator-2, operator-3, ...
func (o *Operator) newReplica() *Replica {
	taken := func(name string) bool {
		return slices.ContainsFunc(o.replicas, func(r *Replica) bool { return r.name == name })
	}
	name := o.options.Name
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s-%d", o.options.Name, i)
	}
	replica := &Replica{operator: o, name: name}
	o.replicas = append(o.replicas, replica)
	if !slices.Contains(o.logs, name) {
		o.logs = append(o.logs, name)
	}
	return replica
}

// Name returns the name of the process in its supervisor.
func (r *Replica) Name() string { return r.name }

// LogFile returns the path of the process's log.
func (r *Replica) LogFile() string { return r.supervisor().LogFile(r.name) }

// MetricsAddress returns the host:port of the replica's metrics; empty if the manifests enable none. A restart changes it.
func (r *Replica) MetricsAddress() string { return r.at.metrics }

// HealthAddress returns the host:port of the replica's probes. A restart changes it.
func (r *Replica) HealthAddress() string { return r.at.health }

// Stop stops the process as a kubelet does (SIGTERM, then SIGKILL after a grace period), and waits until it has exited. Its webhooks
// get requests for a short time after the signal, as those of a pod do: an API server learns later that it is going.
func (r *Replica) Stop(ctx context.Context) error { return r.operator.stop(ctx, r) }

// Kill kills the process, as a failing node does (SIGKILL). It stays down until [Replica.Restart].
func (r *Replica) Kill(ctx context.Context) error {
	if err := r.crash(ctx); err != nil {
		return err
	}
	return r.operator.settle(ctx)
}

// Pause stops the process where it is (SIGSTOP), like a node that hangs: its connections stay open. Once Pause returns, requests to
// the operator's webhooks go to other replicas.
func (r *Replica) Pause(ctx context.Context) error {
	if err := r.supervisor().Pause(ctx, r.name); err != nil {
		return err
	}
	return r.operator.settle(ctx)
}

// Resume continues a process that [Replica.Pause] has stopped (SIGCONT).
func (r *Replica) Resume(ctx context.Context) error {
	return r.supervisor().Resume(ctx, r.name)
}

// Ended waits until the process exits on its own, as one does that is no longer the leader, and returns how it did.
func (r *Replica) Ended(ctx context.Context) (supervisor.ExitStatus, error) {
	return r.supervisor().Wait(ctx, r.name)
}

// Restart stops the process, if it still runs, starts it with the changes, on other ports, and waits until it is ready.
// Changes last until the next Restart.
func (r *Replica) Restart(ctx context.Context, changes ...Change) error {
	if err := r.Stop(ctx); err != nil {
		return err
	}
	return r.start(ctx, changes...)
}

// Remove stops the process for good: a Restart of the operator does not bring it back. The first replica stays.
func (r *Replica) Remove(ctx context.Context) error {
	if r == r.operator.replicas[0] {
		return fmt.Errorf("the replica %s is the operator's first one: stop it instead", r.name)
	}
	if err := r.Stop(ctx); err != nil {
		return err
	}
	r.operator.replicas = slices.DeleteFunc(r.operator.replicas, func(other *Replica) bool { return other == r })
	return nil
}

func (r *Replica) supervisor() *supervisor.Supervisor { return r.operator.options.Supervisor }

// end stops the process, if there ever was one.
func (r *Replica) end(ctx context.Context) error {
	if !r.began {
		return nil
	}
	return r.supervisor().Stop(ctx, r.name)
}

func (r *Replica) crash(ctx context.Context) error {
	if r.operator.InPods() {
		return r.operator.killPods(ctx)
	}
	return r.supervisor().Kill(ctx, r.name)
}

// choosePorts gives the next run its ports, none of which a late connection to the last run could meet.
func (r *Replica) choosePorts() error {
	at, err := chooseAddresses(r.operator.manager, r.operator.served, r.operator.fixedAt)
	if err != nil {
		return fmt.Errorf("finding free ports for the operator %s: %w", r.name, err)
	}
	r.at, r.serving = at, true
	return nil
}

// start chooses ports, starts the process on them and waits until it is ready.
func (r *Replica) start(ctx context.Context, changes ...Change) error {
	if err := r.choosePorts(); err != nil {
		return err
	}
	if err := r.operator.settle(ctx); err != nil {
		return err
	}
	return r.run(ctx, changes...)
}

// run starts the process and waits until it is ready; on other ports, if it could not have one of its own, and without the address of its
// probes, if it has no flag for that.
func (r *Replica) run(ctx context.Context, changes ...Change) error {
	for try := 1; ; try++ {
		err := r.tryToRun(ctx, changes...)
		if errors.Is(err, errNoHealthFlag) && r.operator.unprobed.CompareAndSwap(false, true) {
			err = r.tryToRun(ctx, changes...)
		}
		if !errors.Is(err, errPortTaken) || try == portTries {
			return err
		}
		if err := r.move(ctx); err != nil {
			return err
		}
	}
}

// move gives the next run other ports. The other replicas may be starting.
func (r *Replica) move(ctx context.Context) error {
	r.operator.moving.Lock()
	defer r.operator.moving.Unlock()
	if err := r.choosePorts(); err != nil {
		return err
	}
	return r.operator.settle(ctx)
}

func (r *Replica) tryToRun(ctx context.Context, changes ...Change) error {
	options := r.operator.options.with(changes)
	if log, err := os.Stat(r.LogFile()); err == nil {
		r.earlier = int(log.Size())
	}
	p, err := r.process(options)
	if err == nil {
		err = r.supervisor().Run(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("starting the operator %s: %w", r.name, err)
	}
	r.began = true
	if options.notAwaited {
		return nil
	}
	return r.ready(ctx)
}
