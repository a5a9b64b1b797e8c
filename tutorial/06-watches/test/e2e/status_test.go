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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/06-watches/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.Test(t, features.New("nodes").
		Assess("are the ready pods", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 3)
			settled(ctx, t, s, mc)
			pods := &corev1.PodList{}
			NewWithT(t).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
			var names []string // as the API server sorts them
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			s.Expect(t).Object(ctx, mc, HaveField("Status.Nodes", Equal(names)))
		})).
		Assess("follow a pod that is replaced", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
			NewWithT(t).Expect(s.Client.Delete(ctx, lost)).To(Succeed())
			s.Expect(t).Object(ctx, mc, HaveField("Status.Nodes", And(HaveLen(3), Not(ContainElement(lost.Name)))))
			settled(ctx, t, s, mc)
		})).
		Assess("and never was it Available too early", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			truthful(ctx, t, s, mc)
		})).
		Feature())
}

func TestAvailable(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.Test(t, features.New("Available").
		Assess("is recorded as an event", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			s.Expect(t).Event(ctx, mc, expect.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonAllReplicasReady})
		})).
		Assess("is about the spec as it is now", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, t, s, mc)
			truthful(ctx, t, s, mc)
		})).
		Assess("stays true while pods are replaced, and none is missing", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			since := len(s.Versions(ctx, t))
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(11311)) })
			settled(ctx, t, s, mc)
			for _, version := range history.Of(s.Versions(ctx, t)[since:], mc.UID) {
				NewWithT(t).Expect(expect.IsTrue(version.Object, cachev1alpha1.ConditionAvailable)).To(BeTrue(), "expected that it stays Available")
			}
		})).
		Feature())
}

// TestPodsFailing lets a simulated kubelet say that memcached crashes.
func TestPodsFailing(t *testing.T) {
	const crash = "testbed.example.com/simulate"
	var mc *cachev1alpha1.Memcached
	var pod *corev1.Pod
	annotate := func(ctx context.Context, t *testing.T, s *suite.Scope, value string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, crash, value))
		NewWithT(t).Expect(s.Client.Patch(ctx, pod, patch)).To(Succeed())
	}
	stage.Test(t, features.New("failing pods").
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			if s.RealKubelet {
				t.Skip("a real kubelet runs the pod and can't be told to let it crash")
			}
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			s.Expect(t).Object(ctx, mc, HaveField("Status.Nodes", HaveLen(1)))
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
		})).
		Assess("are told of", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			annotate(ctx, t, s, `"crashloop"`)
			s.Expect(t).Condition(ctx, mc,
				expect.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
				expect.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsFailing},
			)
			s.Expect(t).Event(ctx, mc, expect.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonPodsFailing})
		})).
		Assess("and healed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			annotate(ctx, t, s, "null")
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// The next two forbid what the operator, and what its Deployment wants, by a quota.

func TestRefusedDeployment(t *testing.T) {
	stage.Test(t, features.New("a refused Deployment").
		Assess("is told of, and healed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			none := forbid(ctx, t, s, "count/deployments.apps")
			mc := create(ctx, t, s, "cache", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonDeploymentRefused)
			NewWithT(t).Expect(s.Client.Delete(ctx, none)).To(Succeed())
			settled(ctx, t, s, mc)
		})).
		Feature())
}

func TestRefusedPods(t *testing.T) {
	stage.Test(t, features.New("refused pods").
		Assess("are told of", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			forbid(ctx, t, s, corev1.ResourcePods)
			degraded(ctx, t, s, create(ctx, t, s, "cache", 1), cachev1alpha1.ReasonPodsRefused)
		})).
		Feature())
}

// degraded waits until the Memcached says that a quota is in its way, in its status and as an event.
func degraded(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, reason string) {
	t.Helper()
	s.Expect(t).Condition(ctx, mc, expect.Condition{
		Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: "quota",
	})
	s.Expect(t).Event(ctx, mc, expect.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: "quota"})
}

// forbid sets a quota of none, and waits until the API server keeps it.
func forbid(ctx context.Context, t *testing.T, s *suite.Scope, what corev1.ResourceName) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("0")}},
	}
	if err := s.Client.Create(ctx, quota); err != nil {
		t.Fatal(err)
	}
	s.Expect(t).Object(ctx, quota, HaveField("Status.Hard", HaveKey(what)))
	return quota
}

// truthful fails the test if the Memcached ever said Available=True before as many pods as its size were ready.
func truthful(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached) {
	t.Helper()
	for _, early := range history.Early(s.Versions(ctx, t), mc.UID, cachev1alpha1.ConditionAvailable, "spec.size", history.ReadyPods) {
		t.Errorf("expected no untrue Available=True; last seen: %s", early)
	}
}
