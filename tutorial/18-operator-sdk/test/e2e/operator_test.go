package e2e

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
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

// TestTwoInANamespace checks that the selectors of two Memcacheds select different pods.
func TestTwoInANamespace(t *testing.T) {
	stage.Feature("two in a namespace").
		Assess("share no pod", func(ctx context.Context, s *framework.Scope) {
			one, two := create(ctx, s, s.NewName("one"), s.Size(1, 3)), create(ctx, s, s.NewName("two"), s.Size(1, 3))
			settled(ctx, s, one)
			settled(ctx, s, two)
			for _, mc := range []*cachev1alpha1.Memcached{one, two} {
				deployment := deploymentOf(mc)
				framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
				framework.WaitForObjects(ctx, s, framework.ObjectsInput{
					List:    &corev1.PodList{},
					Options: []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)},
					Matcher: HaveLen(int(*mc.Spec.Size)),
				})
			}
		}).
		Test(t)
}

func TestPort(t *testing.T) {
	stage.Feature("port").
		Assess("memcached listens on it", func(ctx context.Context, s *framework.Scope) {
			port := s.Port()
			mc := &cachev1alpha1.Memcached{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("cache")},
				Spec:       cachev1alpha1.MemcachedSpec{Size: new(s.Size(1, 2)), ContainerPort: &port},
			}
			if err := s.Client.Create(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Template.Spec.Containers", HaveExactElements(And(
				HaveField("Command", ContainElement(fmt.Sprintf("--port=%d", port))),
				HaveField("Ports", HaveExactElements(HaveField("ContainerPort", BeEquivalentTo(port)))),
			))))
			settled(ctx, s, mc)
		}).
		Test(t)
}

// allow makes the API server refuse more pods in the feature's namespace than that many.
func allow(ctx context.Context, s *framework.Scope, pods int32) *corev1.ResourceQuota {
	s.Helper()
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(pods), resource.DecimalSI)}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("pods")}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}
	if err := s.Client.Create(ctx, quota); err != nil {
		s.Fatal(err)
	}
	framework.WaitForObject(ctx, s, quota, HaveField("Status.Hard", HaveKey(corev1.ResourcePods)))
	return quota
}

// TestStatus looks at every version of a Memcached: a status that was wrong for a moment misleads programs that wait for it.
func TestStatus(t *testing.T) {
	neverEarly := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
		early := framework.Early(s.Versions(ctx), mc.UID, "Available", "spec.size", framework.ReadyPods, framework.CountedBy(mc.Name))
		NewWithT(s).Expect(early).To(BeEmpty(), "expected Available=True only when as many pods are ready as the size says")
	}
	available := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
		settled(ctx, s, mc)
		framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "PodsReady"})
		neverEarly(ctx, s, mc)
	}
	framework.Given(stage.Feature("status"), created(1, 2)).
		Assess("is never Available with too few pods", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			neverEarly(ctx, s, mc)
		}).
		Assess("is Available when all pods are ready", available).
		Assess("is not Available while only some pods are ready", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			// Without the quota, all pods could be ready before the operator has written a status.
			quota := allow(ctx, s, *mc.Spec.Size)
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(3, 5)) })
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Conditions", ContainElement(And(
				HaveField("Type", "Available"), HaveField("ObservedGeneration", mc.Generation),
			))))
			neverEarly(ctx, s, mc)
			if err := s.Client.Delete(ctx, quota); err != nil {
				s.Fatal(err)
			}
		}).
		Assess("is Available again when all are", available).
		Test(t)
}

func TestRepair(t *testing.T) {
	framework.Given(stage.Feature("repair"), created(2, 3)).
		Setup(settled).
		Assess("a Deployment that was scaled", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Size(1, 5)))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("kubectl")); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(*mc.Spec.Size))))
			settled(ctx, s, mc)
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
	framework.Given(stage.Feature("delete"), created(2, 3)).
		Assess("leaves nothing behind", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			if err := s.Client.Delete(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			framework.WaitForNone(ctx, s, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
		}).
		Assess("is not an error", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			// Its event comes later, so the operator has looked at the deleted one when it has served this one.
			settled(ctx, s, create(ctx, s, s.NewName("next"), s.Size(1, 2)))
			NewWithT(s).Expect(s.Errors(0)).NotTo(ContainElement(ContainSubstring(`"%s" not found`, mc.Name)),
				"expected no error, and so no retry, for a Memcached that is gone")
		}).
		Test(t)
}
