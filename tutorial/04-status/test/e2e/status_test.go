package e2e

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	framework.Given(stage.Feature("nodes"), created(3, 5)).
		Assess("are the ready pods", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			pods := &corev1.PodList{}
			NewWithT(s).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
			var names []string // as the API server sorts them
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", Equal(names)))
		}).
		Assess("follow a pod that is replaced", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
			NewWithT(s).Expect(s.Client.Delete(ctx, lost)).To(Succeed())
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", And(HaveLen(int(*mc.Spec.Size)), Not(ContainElement(lost.Name)))))
			settled(ctx, s, mc)
		}).
		Assess("and never was it Available too early", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			truthful(ctx, s, mc)
		}).
		Test(t)
}

func TestAvailable(t *testing.T) {
	framework.Given(stage.Feature("Available"), created(1, 2)).
		Assess("is recorded as an event", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonAllReplicasReady})
		}).
		Assess("is about the spec as it is now", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			// A Deployment takes a quarter of its pods away at once in a rollout: none of up to three, one of four.
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(*spec.Size+1, 3)) })
			settled(ctx, s, mc)
			truthful(ctx, s, mc)
		}).
		Assess("stays true while pods are replaced, and none is missing", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			since := len(s.Versions(ctx))
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			settled(ctx, s, mc)
			for _, version := range record.Of(s.Versions(ctx)[since:], mc.UID) {
				NewWithT(s).Expect(framework.IsTrue(version.Object, cachev1alpha1.ConditionAvailable)).To(BeTrue(), "expected it to stay Available")
			}
		}).
		Test(t)
}

// TestPodsFailing makes a simulated kubelet report that memcached crashes.
func TestPodsFailing(t *testing.T) {
	feature := stage.Feature("failing pods").
		Setup(func(_ context.Context, s *framework.Scope) { s.NeedsSimulation("their kubelets say how a pod is") })
	framework.Given(feature, created(1, 2)).
		Setup(settled).
		Assess("are reported", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			simulate(ctx, s, `"crashloop"`)
			framework.WaitForConditions(ctx, s, mc,
				framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
				framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsFailing},
			)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonPodsFailing})
		}).
		Assess("and recover", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			simulate(ctx, s, "null")
			settled(ctx, s, mc)
		}).
		Test(t)
}

// simulate annotates the feature's pods with the fault that the simulated kubelet should show, as JSON: null for none.
func simulate(ctx context.Context, s *framework.Scope, what string) {
	s.Helper()
	pods := &corev1.PodList{}
	NewWithT(s).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
	for _, pod := range pods.Items {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"testbed.example.com/simulate":%s}}}`, what))
		NewWithT(s).Expect(s.Client.Patch(ctx, &pod, patch)).To(Succeed())
	}
}

// The next two features refuse what the operator, and what its Deployment creates, by a quota.

func TestRefusedDeployment(t *testing.T) {
	stage.Feature("a refused Deployment").
		Assess("is reported, and recovers", func(ctx context.Context, s *framework.Scope) {
			none := forbid(ctx, s, "count/deployments.apps")
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			degraded(ctx, s, mc, cachev1alpha1.ReasonDeploymentRefused)
			NewWithT(s).Expect(s.Client.Delete(ctx, none)).To(Succeed())
			settled(ctx, s, mc)
		}).
		Test(t)
}

func TestRefusedPods(t *testing.T) {
	stage.Feature("refused pods").
		Assess("are reported", func(ctx context.Context, s *framework.Scope) {
			forbid(ctx, s, corev1.ResourcePods)
			degraded(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2)), cachev1alpha1.ReasonPodsRefused)
		}).
		Test(t)
}

// degraded waits until the Memcached's status and an event report that a quota is exceeded.
func degraded(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, reason string) {
	s.Helper()
	framework.WaitForConditions(ctx, s, mc, framework.Condition{
		Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: "quota",
	})
	framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: "quota"})
}

// forbid sets a quota of none, and waits until the API server keeps it.
func forbid(ctx context.Context, s *framework.Scope, what corev1.ResourceName) *corev1.ResourceQuota {
	s.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("none")},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("0")}},
	}
	if err := s.Client.Create(ctx, quota); err != nil {
		s.Fatal(err)
	}
	framework.WaitForObject(ctx, s, quota, HaveField("Status.Hard", HaveKey(what)))
	return quota
}

// truthful fails the test if the Memcached ever reported Available=True while fewer pods than its size were ready.
func truthful(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	for _, early := range framework.Early(s.Versions(ctx), mc.UID, cachev1alpha1.ConditionAvailable, "spec.size", framework.ReadyPods) {
		s.Errorf("expected no untrue Available=True; last seen: %s", early)
	}
}
