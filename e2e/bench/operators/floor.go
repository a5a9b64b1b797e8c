package operators

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// measureFloor does without an operator what every operator has to do: it creates each Memcached and a Deployment for it, and writes
// one status for each when all pods are ready.
func (f *fixture) measureFloor(ctx context.Context) (Result, error) {
	recorder, err := record.Start(ctx, f.client, namespace, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return Result{}, err
	}
	defer recorder.Stop()
	start := time.Now()
	err = each(ctx, f.n, func(ctx context.Context, name string) error {
		if err := f.client.Create(ctx, newMemcached(name)); err != nil {
			return err
		}
		return f.client.Create(ctx, watch.NewDeployment(namespace, name, size))
	})
	if err == nil {
		err = f.waitForAvailable(ctx, recorder, f.n)
	}
	if err == nil {
		err = each(ctx, f.n, func(ctx context.Context, name string) error {
			return f.client.Status().Patch(ctx, newMemcached(name), client.RawPatch("application/merge-patch+json", statusOfFloor))
		})
	}
	return Result{Subject: floor, Objects: f.n, Available: time.Since(start)}, err
}

var statusOfFloor = []byte(`{"status":{"conditions":[{"type":"Available","status":"True","reason":"Written","message":"",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
