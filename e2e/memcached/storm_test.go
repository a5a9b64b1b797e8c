package memcached

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestConflictStorm has somebody write to the Memcached and its Deployment without a pause.
func TestConflictStorm(t *testing.T) {
	framework.Given(memcached.Feature("conflict storm").WithLabel("contract", "6"), func(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return named(s, s.NewName("cache"))
	}).
		Assess("changes are made all the same, without a conflict", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			mark := s.Mark()
			mc.Spec.Size = new(s.Size(1, 2))
			add(ctx, s, mc)
			settled(ctx, s, mc)
			written := storm(ctx, s, mc, deploymentOf(mc))
			for _, size := range []int32{s.Size(2, 3), s.Size(4, 5), s.Size(1, 3)} {
				resize(ctx, s, mc, size)
				settled(ctx, s, mc)
			}
			s.Logf("%d writes of others", written())
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.Code(409)))
			framework.VerifyDistinctWrites(ctx, s, s.Writes(mark, audit.Resource("memcacheds", "status")))
			truthful(ctx, s, mc)
		}).
		Assess("and labels of others call for no write", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			mark := s.Mark()
			written := storm(ctx, s, mc, deploymentOf(mc))
			barrier(ctx, s)
			written()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		Test(t)
}

// TestForestalled owns the operator. Somebody always writes to an object just before the operator does, so that whatever resource
// version the operator has read is old by the time it writes.
func TestForestalled(t *testing.T) {
	memcached.Feature("forestalled").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Assess("changes are made at the first try", func(ctx context.Context, s *framework.Scope) {
			forestall(ctx, s)
			mark := s.Mark()
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			resize(ctx, s, mc, s.Size(3, 5))
			settled(ctx, s, mc)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.Code(409)))
			framework.VerifyDistinctWrites(ctx, s, s.Writes(mark, audit.Resource("memcacheds", "status")))
			truthful(ctx, s, mc)
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(mc.Labels).To(HaveKey(forestalled), "the label of who wrote before the operator did")
		}).
		TestAlone(t)
}

// forestalled is a label that changes with each write to an object just before the operator's own.
const forestalled = "example.com/forestalled"

// forestall restarts the operator behind a proxy. Before it passes on a write to a Memcached or a Deployment, it changes a label
// there.
func forestall(ctx context.Context, s *framework.Scope) {
	s.Helper()
	var count atomic.Int64
	behindProxy(ctx, s, func(pass http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if object := written(request); object != nil {
				patch := rawMergePatch(fmt.Sprintf(`{"metadata":{"labels":{%q:"%d"}}}`, forestalled, count.Add(1)))
				// The operator may write to what was deleted a moment ago, such as the canary.
				if err := client.IgnoreNotFound(s.Client.Patch(ctx, object, patch, vandal)); err != nil {
					s.Errorf("writing before the operator does: %v", err)
				}
			}
			pass.ServeHTTP(w, request)
		})
	})
}

// written returns the Memcached or Deployment that a request is about to change, or nil.
func written(request *http.Request) client.Object {
	parts := strings.Split(strings.TrimPrefix(request.URL.Path, "/apis/"), "/") // GROUP VERSION namespaces NAMESPACE RESOURCE NAME
	if request.Method != http.MethodPatch && request.Method != http.MethodPut || len(parts) < 6 {
		return nil
	}
	at := metav1.ObjectMeta{Namespace: parts[3], Name: parts[5]}
	switch parts[4] {
	case "memcacheds":
		return &cachev1alpha1.Memcached{ObjectMeta: at}
	case "deployments":
		return &appsv1.Deployment{ObjectMeta: at}
	}
	return nil
}

// storm changes a label of the objects, each as fast as the API server takes it, until stop is called, which returns how often
// they were changed. An annotation of a Deployment's would be copied to its ReplicaSet: Kubernetes' own controller, which does so,
// could write nothing else for conflicts with itself.
func storm(ctx context.Context, s *framework.Scope, objects ...client.Object) (stop func() int) {
	s.Helper()
	ctx, cancel := context.WithCancel(ctx)
	s.Cleanup(cancel)
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
		s.Helper()
		cancel()
		if err := writers.Wait(); err != nil {
			s.Fatalf("writing against the operator: %v", err)
		}
		total := 0
		for _, count := range counts {
			total += count
		}
		return total
	}
}
