package memcached

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestConflictStorm has somebody write to the Memcached and its Deployment without a pause, so that whatever resource version
// the operator has read is old by the time it writes.
func TestConflictStorm(t *testing.T) {
	memcached.Test(t, features.New("conflict storm").
		WithLabel("contract", "6").
		Assess("changes are made all the same, without a conflict", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mark := s.Mark(t)
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			written := storm(ctx, t, s, mc, deploymentOf(mc))
			for _, size := range []int32{3, 5, 2} {
				change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(size) })
				settled(ctx, t, s, mc)
			}
			t.Logf("%d writes of others", written())
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, audit.Code(409)))
			s.Expect(t).Distinct(s.Writes(mark, audit.Resource("memcacheds", "status")))
			truthful(ctx, t, s, mc)
		})).
		Assess("and labels of others call for no write", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "cache")
			mark := s.Mark(t)
			written := storm(ctx, t, s, mc, deploymentOf(mc))
			barrier(ctx, t, s)
			written()
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Feature())
}

// storm changes a label of the objects, each as fast as the API server takes it, until stop is called, which returns how often
// they were changed. An annotation of a Deployment's would be copied to its ReplicaSet: Kubernetes' own controller, which does so,
// could write nothing else for conflicts with itself.
func storm(ctx context.Context, t *testing.T, s *suite.Scope, objects ...client.Object) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	var writers errgroup.Group
	counts := make([]int, len(objects))
	for i, object := range objects {
		object := object.DeepCopyObject().(client.Object) // the caller changes its own meanwhile
		writers.Go(func() error {
			for ctx.Err() == nil {
				patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/storm":"%d"}}}`, counts[i])
				err := s.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), vandal)
				if err != nil && !errors.Is(err, context.Canceled) {
					return err
				}
				counts[i]++
			}
			return nil
		})
	}
	return func() int {
		t.Helper()
		cancel()
		if err := writers.Wait(); err != nil {
			t.Fatalf("writing against the operator: %v", err)
		}
		total := 0
		for _, count := range counts {
			total += count
		}
		return total
	}
}
