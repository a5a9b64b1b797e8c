package operators

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
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
		err = f.waitForAvailable(ctx, recorder, f.n, target{size: size})
	}
	if err == nil {
		err = f.writeStatuses(ctx)
	}
	result := Result{Subject: floor, Objects: f.n, PodsReadyAfter: f.options.PodsReadyAfter, Available: time.Since(start)}
	if err == nil {
		result.Scale, err = f.floorPhase(ctx, target{size: grown}, func(ctx context.Context, name string) error {
			if err := f.resize(ctx, name); err != nil {
				return err
			}
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, grown)
			return f.client.Patch(ctx, watch.NewDeployment(namespace, name, size), client.RawPatch(types.MergePatchType, patch))
		})
		result.Scale.WritesMean, result.Scale.WritesMax = 2, 2 // of the Deployment and of the status
	}
	if err == nil {
		result.Rollout, err = f.floorPhase(ctx, target{size: grown, restarted: true}, f.restartPods)
		result.Rollout.WritesMean, result.Rollout.WritesMax = 1, 1 // of the status
	}
	return result, err
}

// floorPhase is a phase with a write of each status at the end.
func (f *fixture) floorPhase(ctx context.Context, want target, change func(ctx context.Context, name string) error) (Phase, error) {
	recorder, err := record.Start(ctx, f.client, namespace, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return Phase{}, err
	}
	defer recorder.Stop()
	start := time.Now()
	if err := each(ctx, f.n, change); err != nil {
		return Phase{}, err
	}
	if err := f.waitForAvailable(ctx, recorder, f.n, want); err != nil {
		return Phase{}, err
	}
	err = f.writeStatuses(ctx)
	return Phase{Time: time.Since(start)}, err
}

// writeStatuses writes one status for each Memcached.
func (f *fixture) writeStatuses(ctx context.Context) error {
	return each(ctx, f.n, func(ctx context.Context, name string) error {
		return f.client.Status().Patch(ctx, newMemcached(name), client.RawPatch(types.MergePatchType, statusOfFloor))
	})
}

var statusOfFloor = []byte(`{"status":{"conditions":[{"type":"Available","status":"True","reason":"Written","message":"",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
