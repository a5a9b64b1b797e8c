package operators

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// operatorName is the name of the operator's process.
const operatorName = "operator"

// scenario is what one operator goes through.
type scenario struct {
	*fixture
	operator *runner.Operator
	// calm is how long the operator must not have written to count as quiet.
	calm   time.Duration
	result Result
}

// measureOperator measures a subject while n objects are created, while nothing happens, while Deployments are changed, and after
// restarts.
func (f *fixture) measureOperator(ctx context.Context, subject Subject) (Result, error) {
	operator, err := runner.Start(ctx, runner.Options{
		Name: operatorName, Config: f.config, Supervisor: f.cluster.Supervisor(), Manifests: subject.Manifests,
		// The subjects are built here, from pinned sources. A confined process can't read its CPU time in /proc.
		Binary: subject.Binary, Own: true, Args: append([]string{"--metrics-secure=false"}, subject.Args...),
	})
	if err != nil {
		return Result{}, err
	}
	s := &scenario{f, operator, calm, Result{Subject: subject.Name, Objects: f.n, PodsReadyAfter: f.options.PodsReadyAfter}}
	peak := s.watchMemory(ctx)
	defer peak()
	for _, step := range []func(context.Context) error{s.create, s.scale, s.rollOut, s.doNothing, s.repair, s.measureCPU} {
		if err := step(ctx); err != nil {
			return Result{}, err
		}
	}
	s.result.PeakMemory = peak()
	if s.result.MemoryLimit, err = memoryLimitOf(subject.Manifests); err != nil {
		return Result{}, err
	}
	s.result.RestartWrites, s.result.Heap, err = s.restart(ctx)
	if err == nil && f.n == slices.Min(f.options.Objects) && f.options.Foreign > 0 {
		err = s.addForeign(ctx)
	}
	return s.result, err
}

// create creates all objects at once.
func (s *scenario) create(ctx context.Context) error {
	recorder, err := record.Start(ctx, s.client, namespace, memcached, corev1.SchemeGroupVersion.WithKind("Pod"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return err
	}
	defer recorder.Stop()
	start := time.Now()
	err = each(ctx, s.n, func(ctx context.Context, name string) error { return s.client.Create(ctx, newMemcached(name)) })
	if err == nil {
		err = s.waitForAvailable(ctx, recorder, 2*s.n, target{size: size})
	}
	s.result.Available = time.Since(start)
	if err == nil {
		_, err = s.writesUntilQuiet(ctx, audit.Mark{})
	}
	if err != nil {
		return err
	}
	versions, err := recorder.CaughtUp(ctx)
	if err != nil {
		return err
	}
	s.result.FalseAvailable = falseAvailable(versions)
	events, err := s.audit.Since(audit.Mark{}, requests(s.operator.UserName()))
	if err != nil {
		return err
	}
	countRequests(&s.result, events)
	metrics, err := scrape(ctx, s.operator.MetricsAddress())
	s.result.Reconciles = metrics.reconciles / float64(s.n)
	return err
}

// scale changes the size of all Memcacheds at once.
func (s *scenario) scale(ctx context.Context) (err error) {
	s.say("changing the size from %d to %d", size, grown)
	s.result.Scale, err = s.phase(ctx, target{size: grown}, s.resize)
	return err
}

// rollOut changes the pod template of all Deployments at once.
func (s *scenario) rollOut(ctx context.Context) (err error) {
	s.say("rolling out all Deployments")
	s.result.Rollout, err = s.phase(ctx, target{size: grown, restarted: true}, s.restartPods)
	return err
}

// measureCPU reads how much processor time the operator has taken so far.
func (s *scenario) measureCPU(ctx context.Context) error {
	metrics, err := scrape(ctx, s.operator.MetricsAddress())
	s.result.CPU = metrics.cpu
	return err
}

// calm is how long an operator that only makes requests must not have written to count as quiet.
const calm = 3 * time.Second

// writesUntilQuiet waits until the operator has not written for a while, and returns how often it has written since the mark.
func (s *scenario) writesUntilQuiet(ctx context.Context, since audit.Mark) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errors.New("the operator does not stop writing"))
	defer cancel()
	before := -1
	for range watch.Poll(ctx, s.calm) {
		events, err := s.audit.Since(since, writes(s.operator.UserName()))
		if err != nil || len(events) == before {
			return before, err
		}
		before = len(events)
		s.say("%d writes, waiting for none in %v", before, s.calm)
	}
	return 0, context.Cause(ctx)
}

// doNothing counts what the operator writes while nobody else does anything.
func (s *scenario) doNothing(ctx context.Context) error {
	mark, err := s.audit.Now()
	if err != nil {
		return err
	}
	s.say("doing nothing for %v", s.options.Quiet)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.options.Quiet):
	}
	events, err := s.audit.Since(mark, writes(s.operator.UserName()))
	s.result.QuietWrites = len(events)
	return err
}

// repair changes Deployments one after the other and measures how long each stays changed.
func (s *scenario) repair(ctx context.Context) error {
	s.say("changing %d Deployments", s.options.Repairs)
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	recorder, err := record.Start(bounded, s.client, namespace, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return err
	}
	defer recorder.Stop()
	order := rand.New(rand.NewPCG(1, 2)).Perm(s.n) // the same one in every run
	// An operator may well take more changes of one Deployment in a row for a fight with another program, and back off.
	for i := range min(s.options.Repairs, 3*s.n) {
		deployment := watch.NewDeployment(namespace, nameOf(order[i%s.n]), grown)
		if err := s.client.Patch(bounded, deployment, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":4}}`))); err != nil {
			return err
		}
		start := time.Now()
		patched, err := strconv.ParseUint(deployment.ResourceVersion, 10, 64)
		if err == nil {
			err = recorder.Until(bounded, 0, func(v record.Version) bool {
				replicas, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "replicas")
				return v.Object.GetName() == deployment.Name && v.Revision > patched && !v.Deleted && replicas == grown
			})
		}
		if err != nil {
			return fmt.Errorf("the Deployment %s is not repaired: %w", deployment.Name, err)
		}
		s.result.Repairs = append(s.result.Repairs, time.Since(start))
	}
	_, err = s.writesUntilQuiet(ctx, audit.Mark{})
	return err
}

// restart restarts the operator, and returns how often it writes then and how many MiB are live on its heap.
func (s *scenario) restart(ctx context.Context) (written int, heap float64, err error) {
	s.say("restarting the operator")
	mark, err := s.audit.Now()
	if err == nil {
		// It collects garbage often, so that the last collection was never long ago.
		err = s.operator.Restart(ctx, runner.WithEnv("GOGC=20"))
	}
	if err == nil {
		written, err = s.writesUntilQuiet(ctx, mark)
	}
	if err != nil {
		return 0, 0, err
	}
	metrics, err := scrape(ctx, s.operator.MetricsAddress())
	return written, metrics.heap, err
}

// addForeign creates foreign Deployments, restarts the operator, and measures how much more is live on its heap.
func (s *scenario) addForeign(ctx context.Context) error {
	s.say("creating %d foreign Deployments", s.options.Foreign)
	if err := each(ctx, s.options.Foreign, func(ctx context.Context, name string) error {
		deployment := watch.NewDeployment(namespace, "other-"+name, 0)
		deployment.Spec.Paused = true // no ReplicaSets: they are not what is measured
		return s.client.Create(ctx, deployment)
	}); err != nil {
		return err
	}
	_, heap, err := s.restart(ctx)
	s.result.Foreign, s.result.ForeignHeap = s.options.Foreign, heap-s.result.Heap
	return err
}

// watchMemory reads the memory of the operator, and of the programs that it has started, each second until the function that it returns is called, which returns the maximum.
func (s *scenario) watchMemory(ctx context.Context) (stop func() float64) {
	ctx, cancel := context.WithCancel(ctx)
	peak := 0.0
	var watching sync.WaitGroup
	watching.Go(func() {
		for range watch.Poll(ctx, time.Second) {
			if used, err := s.usage(ctx); err == nil {
				peak = max(peak, used.Memory)
			}
		}
	})
	return func() float64 {
		cancel()
		watching.Wait()
		return peak
	}
}
