package forwarder

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

// Start starts the forwarder of that name in the supervisor, in place of one that an earlier start has left, and returns its port.
// address is the one of this machine where the API server calls.
func Start(ctx context.Context, s *supervisor.Supervisor, name, address string) (port int64, err error) {
	if err := s.StopTask(ctx, name); err != nil {
		return 0, err
	}
	if err := s.RunTask(ctx, name, forwardTask, forwardArgs{name, address}, &port); err != nil {
		return 0, fmt.Errorf("starting to forward webhooks as %s: %w", name, err)
	}
	return port, nil
}

// Settle sets which endpoints the forwarder can choose from. When it returns, no client has a connection to any other, nor to one that
// is not ready, except to those that are leaving.
func Settle(ctx context.Context, s *supervisor.Supervisor, name string, endpoints []Endpoint) error {
	if err := s.RunTask(ctx, name+"-endpoints", settleTask, settleArgs{Forwarder: name, Endpoints: endpoints}, nil); err != nil {
		return fmt.Errorf("forwarding webhooks as %s: %w", name, err)
	}
	return nil
}

type settleArgs struct {
	Forwarder string     `json:"forwarder"`
	Endpoints []Endpoint `json:"endpoints"`
}

type forwardArgs struct {
	Forwarder string `json:"forwarder"`
	Address   string `json:"address"`
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
