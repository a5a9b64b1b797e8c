package memcached

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

const (
	// askEvery is the time between two requests of a client that does not stop asking: 50 come in a second.
	askEvery = 20 * time.Millisecond
	// rollingRestarts is how many times each replica is restarted.
	rollingRestarts = 3
)

// TestRollingRestart owns the operator, of which two replicas run. Each gets requests for a while after its SIGTERM, as a pod does.
func TestRollingRestart(t *testing.T) {
	feature := memcached.Feature("rolling restart").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) *runner.Replica {
		second, err := s.Operator.AddReplica(ctx)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := second.Remove(context.WithoutCancel(ctx)); err != nil {
				s.Error(err)
			}
		})
		return second
	}).
		Assess("fails no admission", func(ctx context.Context, s *framework.Scope, second *runner.Replica) {
			answered := askForMemcacheds(ctx, s)
			for range rollingRestarts {
				for _, replica := range []*runner.Replica{s.Operator.Replicas()[0], second} {
					if err := replica.Restart(ctx); err != nil {
						s.Fatal(err)
					}
				}
			}
			s.Logf("%d requests were answered", answered())
		}).
		TestAlone(t)
}

// askForMemcacheds creates Memcacheds at a steady rate, as dry runs, until stop is called. The test fails if any of them is refused. stop
// returns how many there were.
func askForMemcacheds(ctx context.Context, s *framework.Scope) (stop func() int) {
	s.Helper()
	asking, cancel := context.WithCancel(ctx)
	mc := named(s, s.NewName("asked"))
	mc.Spec.Size = new(s.Size(1, 2))
	var requests errgroup.Group
	count := make(chan int, 1)
	go func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		asked := 0
		defer func() { count <- asked }()
		for {
			select {
			case <-asking.Done():
				return
			case <-tick.C:
			}
			asked++
			requests.Go(func() error { return s.Client.Create(ctx, mc.DeepCopy(), client.DryRunAll) })
		}
	}()
	return func() int {
		s.Helper()
		cancel()
		asked := <-count
		if err := requests.Wait(); err != nil {
			s.Errorf("expected all of %d Memcacheds to be admitted; last seen: %v", asked, err)
		}
		return asked
	}
}
