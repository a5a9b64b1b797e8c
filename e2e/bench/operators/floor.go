package operators

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/bench"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// measureFloor does without an operator what no operator can do without: it creates each Memcached and a Deployment for it, and
// when all pods are there it writes one status for each.
func (w *world) measureFloor(ctx context.Context, n int) (Result, error) {
	w.say("floor, %d objects", n)
	recorder, err := record.Start(ctx, w.client, namespace, memcached, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return Result{}, err
	}
	defer recorder.Stop()
	begin := time.Now()
	if err := each(ctx, names(n), func(ctx context.Context, name string) error {
		if err := w.client.Create(ctx, newMemcached(name)); err != nil {
			return err
		}
		return w.client.Create(ctx, bench.NewDeployment(namespace, name, size))
	}); err != nil {
		return Result{}, err
	}
	ready := make(chan error, 1)
	go func() { ready <- w.untilAllAvailable(ctx, recorder, n) }()
	if err := w.until(ctx, recorder, n, "Deployment", "available Deployments", hasAllPods); err != nil {
		return Result{}, err
	}
	if err := each(ctx, names(n), func(ctx context.Context, name string) error {
		return w.client.Status().Patch(ctx, newMemcached(name), client.RawPatch("application/merge-patch+json", statusOfFloor))
	}); err != nil {
		return Result{}, err
	}
	if err := <-ready; err != nil {
		return Result{}, err
	}
	return Result{Subject: floor, Objects: n, Available: time.Since(begin)}, nil
}

var statusOfFloor = []byte(`{"status":{"conditions":[{"type":"Available","status":"True","reason":"Written","message":"",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
