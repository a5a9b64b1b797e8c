package e2e

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/13-testing/api/v1alpha1"
)

func TestSize(t *testing.T) {
	to := func(least, most int32) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(least, most)) })
			settled(ctx, s, mc)
		}
	}
	framework.Given(stage.Feature("size"), created(1, 2)).
		Assess("at first", settled).
		Assess("up", to(3, 5)).
		Assess("down", to(1, 2)).
		Test(t)
}

func TestRepair(t *testing.T) {
	framework.Given(stage.Feature("repair"), created(2, 3)).
		Setup(settled).
		Assess("replicas that were changed", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Size(1, 5)))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("vandal")); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(*mc.Spec.Size))))
			settled(ctx, s, mc)
		}).
		Assess("a label that another client changed, which no pod shows", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			// A change of the status that comes late would call Reconcile anyway.
			settled(ctx, s, created(1, 2)(ctx, s))
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"cache.example.com/memcached-uid":"vandal"}}}`))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("vandal")); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Labels", HaveKeyWithValue("cache.example.com/memcached-uid", string(mc.UID))))
		}).
		Assess("a Deployment that was deleted", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			old := deploymentOf(mc)
			framework.WaitForObject(ctx, s, old, Not(BeNil()))
			if err := s.Client.Delete(ctx, old); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, s, mc)
		}).
		Test(t)
}

func TestDelete(t *testing.T) {
	stage.Feature("delete").
		Assess("leaves nothing behind", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			// Not for the status: without an owner reference, it may stay as it is.
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
			if err := s.Client.Delete(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			framework.WaitForNone(ctx, s, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
		}).
		Test(t)
}

func TestDefault(t *testing.T) {
	stage.Feature("a Memcached without a size").
		Assess("has one pod", func(ctx context.Context, s *framework.Scope) {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("cache")}}
			if err := s.Client.Create(ctx, mc); err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(mc.Spec.Size).To(HaveValue(BeEquivalentTo(1)), "expected the default size")
			settled(ctx, s, mc)
		}).
		Test(t)
}
