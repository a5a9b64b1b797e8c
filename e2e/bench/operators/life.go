package operators

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/bench"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// operatorName is the operator's process.
const operatorName = "operator"

// measure follows a subject through the creation of n objects, quiet, drift and a restart.
func (w *world) measure(ctx context.Context, subject Subject, n int, withForeign bool) (Result, error) {
	w.say("%s, %d objects", subject.Name, n)
	result := Result{Subject: subject.Name, Objects: n}
	operator, err := runner.Start(ctx, runner.Options{
		Name: operatorName, Config: w.config, Supervisor: w.cluster.Supervisor(), Manifests: subject.Manifests,
		Binary: subject.Binary, Args: append([]string{"--metrics-secure=false"}, subject.Args...),
	})
	if err != nil {
		return Result{}, err
	}
	user := operator.UserName()
	recorder, err := record.Start(ctx, w.client, namespace, memcached, corev1.SchemeGroupVersion.WithKind("Pod"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return Result{}, err
	}
	defer recorder.Stop()
	peak := w.watchMemory(ctx)

	begin := time.Now()
	if err := each(ctx, names(n), func(ctx context.Context, name string) error { return w.client.Create(ctx, newMemcached(name)) }); err != nil {
		return Result{}, err
	}
	if err := w.untilAllAvailable(ctx, recorder, n); err != nil {
		return Result{}, err
	}
	result.Available = time.Since(begin)
	if _, err := w.untilQuiet(ctx, user, audit.Mark{}); err != nil {
		return Result{}, err
	}
	versions, err := recorder.CaughtUp(ctx)
	if err != nil {
		return Result{}, err
	}
	recorder.Stop()
	result.FalseAvailable = falseAvailable(versions)
	events, err := w.audit.Since(audit.Mark{}, requests(user))
	if err != nil {
		return Result{}, err
	}
	countRequests(&result, events)
	metrics, err := scrape(ctx, operator.MetricsAddress())
	if err != nil {
		return Result{}, err
	}
	reconciled, err := metrics.reconciles()
	if err != nil {
		return Result{}, err
	}
	result.Reconciles = float64(reconciled) / float64(n)
	pid, err := w.operatorPID(ctx)
	if err != nil {
		return Result{}, err
	}
	if result.CPU, err = bench.CPUTime(pid); err != nil {
		return Result{}, err
	}

	if result.QuietWrites, err = w.quietWrites(ctx, user); err != nil {
		return Result{}, err
	}
	if result.Repairs, err = w.repairs(ctx, n); err != nil {
		return Result{}, err
	}
	if _, err := w.untilQuiet(ctx, user, audit.Mark{}); err != nil {
		return Result{}, err
	}
	result.PeakMemory = peak()
	if result.RestartWrites, result.Heap, err = w.restart(ctx, operator); err != nil {
		return Result{}, err
	}
	if withForeign && w.options.Foreign > 0 {
		result.Foreign = w.options.Foreign
		if result.ForeignHeap, err = w.foreign(ctx, operator, result.Heap); err != nil {
			return Result{}, err
		}
	}
	return result, nil
}

// calm is how long there must have been no write for an operator to be quiet.
const calm = 3 * time.Second

// untilQuiet returns when the operator has not written for a while, and how many writes there were since the mark.
func (w *world) untilQuiet(ctx context.Context, user string, since audit.Mark) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	before := -1
	for {
		events, err := w.audit.Since(since, writes(user))
		if err != nil {
			return 0, err
		}
		if len(events) == before {
			return before, nil
		}
		before = len(events)
		w.say("  %d writes, waiting for none in %v", before, calm)
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the operator does not stop writing: %w", context.Cause(ctx))
		case <-time.After(calm):
		}
	}
}

// quietWrites counts what is written while nobody does anything.
func (w *world) quietWrites(ctx context.Context, user string) (int, error) {
	mark, err := w.audit.Now()
	if err != nil {
		return 0, err
	}
	w.say("  doing nothing for %v", w.options.Quiet)
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(w.options.Quiet):
	}
	events, err := w.audit.Since(mark, writes(user))
	return len(events), err
}

// repairs changes Deployments one after the other and times how long each stays changed.
func (w *world) repairs(ctx context.Context, n int) ([]time.Duration, error) {
	w.say("  changing %d Deployments", w.options.Repairs)
	recorder, err := record.Start(ctx, w.client, namespace, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return nil, err
	}
	defer recorder.Stop()
	random := rand.New(rand.NewPCG(1, 2)) // the same ones in every run
	var times []time.Duration
	for range w.options.Repairs {
		took, err := w.repair(ctx, recorder, names(n)[random.IntN(n)])
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	return times, nil
}

func (w *world) repair(ctx context.Context, recorder *record.Recorder, name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("the Deployment %s is not repaired", name))
	defer cancel()
	deployment := bench.NewDeployment(namespace, name, size)
	if err := w.client.Patch(ctx, deployment, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":4}}`))); err != nil {
		return 0, err
	}
	begin := time.Now()
	patched, err := strconv.ParseUint(deployment.ResourceVersion, 10, 64)
	if err != nil {
		return 0, err
	}
	err = recorder.Until(ctx, 0, func(v record.Version) bool {
		replicas, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "replicas")
		return v.Object.GetName() == name && v.Revision > patched && !v.Deleted && replicas == size
	})
	return time.Since(begin), err
}

// restart starts the operator anew, and returns how much it wrote then and what is alive on its heap.
func (w *world) restart(ctx context.Context, operator *runner.Operator) (written int, heap float64, err error) {
	w.say("  restarting the operator")
	mark, err := w.audit.Now()
	if err != nil {
		return 0, 0, err
	}
	// It collects garbage often, so that the last collection is never long ago.
	if err := operator.Restart(ctx, runner.WithEnv("GOGC=20")); err != nil {
		return 0, 0, err
	}
	if written, err = w.untilQuiet(ctx, operator.UserName(), mark); err != nil {
		return 0, 0, err
	}
	metrics, err := scrape(ctx, operator.MetricsAddress())
	if err != nil {
		return 0, 0, err
	}
	heap, err = metrics.liveHeap()
	return written, heap, err
}

// foreign creates Deployments of others, restarts the operator, and returns how much more is alive on its heap.
func (w *world) foreign(ctx context.Context, operator *runner.Operator, before float64) (float64, error) {
	w.say("  creating %d Deployments of others", w.options.Foreign)
	others := make([]string, w.options.Foreign)
	for i := range others {
		others[i] = fmt.Sprintf("other-%05d", i)
	}
	if err := each(ctx, others, func(ctx context.Context, name string) error {
		deployment := bench.NewDeployment(namespace, name, 0)
		deployment.Spec.Paused = true // no ReplicaSets: they are not what is measured
		return w.client.Create(ctx, deployment)
	}); err != nil {
		return 0, err
	}
	_, after, err := w.restart(ctx, operator)
	return after - before, err
}

func (w *world) operatorPID(ctx context.Context) (int, error) {
	p, found, err := w.cluster.Supervisor().Find(ctx, operatorName)
	if err == nil && !found {
		err = errors.New("the operator does not run")
	}
	return p.PID, err
}

// watchMemory looks at the operator's memory each second until the function that it returns is called, which returns the most
// that was seen.
func (w *world) watchMemory(ctx context.Context) (stop func() float64) {
	ctx, cancel := context.WithCancel(ctx)
	most := 0.0
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if pid, err := w.operatorPID(ctx); err == nil {
				if held, err := bench.ResidentMemory(ctx, pid); err == nil {
					most = max(most, held)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() float64 {
		cancel()
		watching.Wait()
		return most
	}
}
