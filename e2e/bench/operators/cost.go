package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/operator-testbed/e2e/bench"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// CostOptions say whose cost is measured.
type CostOptions struct {
	// Subject is the operator. Unlike in [Measure], it need not serve metrics, and may start other programs for its work.
	Subject Subject
	// Condition is the type of the condition that users of the operator wait for.
	Condition string
	// Objects is how many objects are created at once, after a first one.
	Objects int
	// Progress gets a line for each step.
	Progress io.Writer
}

// Cost is what an operator takes to create objects.
type Cost struct {
	// Objects is how many were created at once.
	Objects int `json:"objects"`
	// First is the time until the first object, created on its own, was up: its Deployment had all pods, and its condition was True. All is
	// the time until all the others were.
	First time.Duration `json:"first"`
	All   time.Duration `json:"all"`
	// Writes and CPU are of each of the others, on average, until the operator was quiet.
	Writes float64       `json:"writes"`
	CPU    time.Duration `json:"cpu"`
	// Memory is the resident memory after the first object, in MiB, and PeakMemory the most that was seen up to the end. Both include the
	// programs that the operator had started.
	Memory     float64 `json:"memory"`
	PeakMemory float64 `json:"peakMemory"`
}

// patientCalm is the calm of operators that may work for seconds between two writes.
const patientCalm = 10 * time.Second

// MeasureCost measures an operator on its own cluster, and leaves nothing running. What the operator takes to start is not part of the cost.
func MeasureCost(ctx context.Context, o CostOptions) (_ Cost, err error) {
	cluster, err := newCluster(ctx, o.Subject.Manifests, o.Objects)
	if err != nil {
		return Cost{}, err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	f, err := newFixture(ctx, cluster, Options{Progress: o.Progress}, o.Objects)
	if err != nil {
		return Cost{}, err
	}
	f.timeout = patientTimeout
	operator, err := runner.Start(ctx, runner.Options{
		Name: operatorName, Config: f.config, Supervisor: f.cluster.Supervisor(), Manifests: o.Subject.Manifests,
		Binary: o.Subject.Binary, Own: true, Args: o.Subject.Args, Env: o.Subject.Env,
	})
	if err != nil {
		return Cost{}, err
	}
	s := &scenario{fixture: f, operator: operator, calm: patientCalm}
	peak := s.watchMemory(ctx)
	defer peak()
	cost := Cost{Objects: o.Objects}
	if cost.First, err = s.createMore(ctx, "first-", 1, o.Condition, 0); err != nil {
		return Cost{}, err
	}
	before, mark, err := s.usageWhenQuiet(ctx, audit.Mark{})
	if err != nil {
		return Cost{}, err
	}
	if cost.All, err = s.createMore(ctx, "", o.Objects, o.Condition, 1); err != nil {
		return Cost{}, err
	}
	after, _, err := s.usageWhenQuiet(ctx, mark)
	if err != nil {
		return Cost{}, err
	}
	events, err := s.audit.Since(mark, writes(operator.UserName()))
	if err != nil {
		return Cost{}, err
	}
	cost.Writes, _ = writesPerObject(events, o.Objects)
	cost.CPU = (after.CPU - before.CPU) / time.Duration(o.Objects)
	cost.Memory, cost.PeakMemory = before.Memory, peak()
	return cost, nil
}

// createMore creates n objects at once, whose names have a prefix, and returns how long it took until they were up. So many others exist.
func (s *scenario) createMore(ctx context.Context, prefix string, n int, condition string, others int) (time.Duration, error) {
	s.say("creating Memcacheds: %d", n)
	recorder, err := record.Start(ctx, s.client, namespace, memcached, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return 0, err
	}
	defer recorder.Stop()
	start := time.Now()
	err = each(ctx, n, func(ctx context.Context, name string) error { return s.client.Create(ctx, newMemcached(prefix+name)) })
	if err == nil {
		err = s.waitForAvailable(ctx, recorder, 2*(n+others), target{size: size, condition: condition})
	}
	return time.Since(start), err
}

// usageWhenQuiet waits until the operator has not written for a while, and returns what it has used until then, and that moment.
func (s *scenario) usageWhenQuiet(ctx context.Context, since audit.Mark) (bench.Usage, audit.Mark, error) {
	if _, err := s.writesUntilQuiet(ctx, since); err != nil {
		return bench.Usage{}, audit.Mark{}, err
	}
	used, err := s.usage(ctx)
	if err != nil {
		return bench.Usage{}, audit.Mark{}, err
	}
	mark, err := s.audit.Now()
	return used, mark, err
}

// usage returns what the operator's process, and those that it has started, have used.
func (s *scenario) usage(ctx context.Context) (bench.Usage, error) {
	process, found, err := s.cluster.Supervisor().Find(ctx, operatorName)
	if err != nil {
		return bench.Usage{}, err
	}
	if !found || process.PID == 0 {
		return bench.Usage{}, fmt.Errorf("measure the operator: %s is not running", operatorName)
	}
	return bench.TreeUsage(ctx, process.PID)
}
