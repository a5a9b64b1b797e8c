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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/quickstart/api/v1alpha1"
)

func TestDeployment(t *testing.T) {
	framework.Given(stage.Feature("Deployment"), created(1, 2)).
		Assess("has the size", settled).
		Setup(resized(3, 5)).
		Assess("follows it up", settled).
		Setup(resized(1, 2)).
		Assess("follows it down", settled).
		Test(t)
}

func TestStatus(t *testing.T) {
	enough := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
		settled(ctx, s, mc)
		framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "AllReplicasReady"})
		framework.WaitForObject(ctx, s, mc, HaveField("Status.ReadyReplicas", Equal(mc.Spec.Size)))
	}
	framework.Given(stage.Feature("status"), created(1, 2)).
		Assess("reports that all pods are ready", enough).
		Setup(resized(3, 5)).
		Assess("reports it for another size", enough).
		Assess("was never Available with too few", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			for _, version := range record.Of(s.Versions(ctx), mc.UID) {
				size, _, _ := unstructured.NestedInt64(version.Object.Object, "spec", "size")
				ready, _, _ := unstructured.NestedInt64(version.Object.Object, "status", "readyReplicas")
				if version.Object.GetGeneration() == generationOf(version.Object) && framework.IsTrue(version.Object, "Available") {
					NewWithT(s).Expect(ready).To(BeNumerically(">=", size), "expected Available=True only when as many pods are ready as the size says")
				}
			}
		}).
		Assess("reports that pods are gone, although the Memcached has not changed", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			caughtUp(ctx, s, mc)
			forbidPods(ctx, s)
			NewWithT(s).Expect(s.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(s.Namespace))).To(Succeed())
			framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "ReplicasNotReady"})
			framework.WaitForObject(ctx, s, mc, HaveField("Status.ReadyReplicas", BeNumerically("<", mc.Spec.Size)))
		}).
		Test(t)
}

// caughtUp waits until the operator has nothing more to do for a Memcached whose pods are ready. It serves one Memcached at a time, so when
// it serves one that was created later, it has handled what happened before. A status that it writes calls Reconcile again, up to twice until
// that writes nothing, and a call that comes late would hide that changes of the Deployment do not call it.
func caughtUp(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
	s.Helper()
	for range 3 {
		framework.WaitForObject(ctx, s, deploymentOf(create(ctx, s, s.NewName("next"), s.Size(1, 2))), Not(BeNil()))
	}
}

// forbidPods sets a quota of none, so that deleted pods are not replaced, and waits until the API server keeps it.
func forbidPods(ctx context.Context, s *framework.Scope) {
	s.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("none")},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	NewWithT(s).Expect(s.Client.Create(ctx, quota)).To(Succeed())
	framework.WaitForObject(ctx, s, quota, HaveField("Status.Hard", HaveKey(corev1.ResourcePods)))
}

// generationOf returns the observedGeneration of an object's only condition.
func generationOf(object *unstructured.Unstructured) int64 {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, is := condition.(map[string]any); is {
			generation, _, _ := unstructured.NestedInt64(fields, "observedGeneration")
			return generation
		}
	}
	return 0
}

func TestRepair(t *testing.T) {
	framework.Given(stage.Feature("repair"), created(2, 3)).
		Setup(settled).
		Setup(caughtUp).
		Assess("a Deployment that was scaled", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, mc.Spec.Size+1))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("kubectl")); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(Equal(mc.Spec.Size))))
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
