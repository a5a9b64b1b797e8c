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

// restartedAt is the annotation that kubectl rollout restart sets.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// resize changes the size of a Memcached, as a user does.
func (f *fixture) resize(ctx context.Context, name string) error {
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, grown)
	return f.client.Patch(ctx, newMemcached(name), client.RawPatch(types.MergePatchType, patch))
}

// restartPods changes the pod template of a Deployment, as kubectl rollout restart does.
func (f *fixture) restartPods(ctx context.Context, name string) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:"2026-01-01T00:00:00Z"}}}}}`, restartedAt)
	return f.client.Patch(ctx, watch.NewDeployment(namespace, name, size), client.RawPatch(types.StrategicMergePatchType, patch))
}

// phase changes all objects at once, waits until all Deployments and Memcacheds are available as wanted, and until the operator has
// stopped writing, and counts what it has written.
func (s *scenario) phase(ctx context.Context, want target, change func(ctx context.Context, name string) error) (Phase, error) {
	recorder, err := record.Start(ctx, s.client, namespace, memcached, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err != nil {
		return Phase{}, err
	}
	defer recorder.Stop()
	mark, err := s.audit.Now()
	if err != nil {
		return Phase{}, err
	}
	start := time.Now()
	if err := each(ctx, s.n, change); err != nil {
		return Phase{}, err
	}
	if err := s.waitForAvailable(ctx, recorder, 2*s.n, want); err != nil {
		return Phase{}, err
	}
	took := time.Since(start)
	if _, err := s.writesUntilQuiet(ctx, mark); err != nil {
		return Phase{}, err
	}
	events, err := s.audit.Since(mark, writes(s.operator.UserName()))
	if err != nil {
		return Phase{}, err
	}
	result := Phase{Time: took}
	result.WritesMean, result.WritesMax = writesPerObject(events, s.n)
	return result, nil
}
