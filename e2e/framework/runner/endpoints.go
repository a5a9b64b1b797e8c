package runner

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/loopback"
)

// The tasks of a supervisor that play the Service of an operator's webhooks: one forwards, the other sets where to.
const (
	forwardTask = "webhook-forwarder"
	settleTask  = "webhook-endpoints"
)

func init() {
	supervisor.RegisterTask(forwardTask, forwardWebhooks)
	supervisor.RegisterTask(settleTask, settleEndpoints)
}

// endpoint is where a replica serves its webhooks, if the process of that name runs and its readiness probe succeeds.
type endpoint struct {
	Process string `json:"process"`
	Webhook string `json:"webhook"` // host:port
	Health  string `json:"health"`  // host:port
	// Leaving is whether the process is about to get a SIGTERM. Connections go to it as before, whether or not it is ready.
	Leaving bool `json:"leaving,omitempty"`
	// Withdrawn is whether no more connections go to it. It keeps those that it has until it closes them.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// address returns the endpoint without what is happening to it.
func (e endpoint) address() endpoint {
	e.Leaving, e.Withdrawn = false, false
	return e
}

type settleArgs struct {
	Forwarder string     `json:"forwarder"`
	Endpoints []endpoint `json:"endpoints"`
}

type forwardArgs struct {
	Forwarder string `json:"forwarder"`
	// Address is the one of this machine where the API server calls.
	Address string `json:"address"`
}

// forwarders are those of this supervisor, by name.
var forwarders sync.Map

// forwardWebhooks is the task that forwards, until its group ends.
func forwardWebhooks(ctx context.Context, s *supervisor.Server, args forwardArgs) error {
	listener, err := loopback.ListenOn(args.Address)
	if err != nil {
		return fmt.Errorf("listening for webhooks: %w", err)
	}
	f := newForwarder(s.Status, s.Logf)
	forwarders.Store(args.Forwarder, f)
	defer forwarders.Delete(args.Forwarder)
	if err := s.Started(listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	f.run(ctx, listener)
	return nil
}

// settleEndpoints is the task that sets the endpoints of a forwarder. It returns when the forwarder uses them, and RunTask waits
// for that, because it never says that it has started.
func settleEndpoints(ctx context.Context, _ *supervisor.Server, args settleArgs) error {
	f, ok := forwarders.Load(args.Forwarder)
	if !ok {
		return fmt.Errorf("nothing forwards webhooks under the name %s", args.Forwarder)
	}
	f.(*forwarder).settle(ctx, args.Endpoints)
	return nil
}

// forwarder is the name of the operator's forwarder.
func (o *Operator) forwarder() string { return o.options.Name + "-webhooks" }

// startForwarder starts the operator's forwarder, in place of one that an earlier start has left, and returns its port.
func (o *Operator) startForwarder(ctx context.Context) (port int64, err error) {
	sup := o.options.Supervisor
	if err := sup.StopTask(ctx, o.forwarder()); err != nil {
		return 0, err
	}
	if err := sup.RunTask(ctx, o.forwarder(), forwardTask, forwardArgs{o.forwarder(), o.options.address()}, &port); err != nil {
		return 0, fmt.Errorf("starting to forward webhooks to the operator %s: %w", o.options.Name, err)
	}
	return port, nil
}

// settle sets which replicas the forwarder can choose from. When it returns, the API server has no connection to any other, nor to
// one that is not ready, except to those that are being stopped.
func (o *Operator) settle(ctx context.Context) error {
	if !o.served {
		return nil
	}
	args := settleArgs{Forwarder: o.forwarder()}
	for _, r := range o.replicas {
		if r.serving {
			args.Endpoints = append(args.Endpoints, endpoint{Process: r.name, Webhook: r.at.webhook, Health: r.at.health, Leaving: r.leaving, Withdrawn: r.withdrawn})
		}
	}
	if err := o.options.Supervisor.RunTask(ctx, o.forwarder()+"-endpoints", settleTask, args, nil); err != nil {
		return fmt.Errorf("forwarding webhooks to the operator %s: %w", o.options.Name, err)
	}
	return nil
}
