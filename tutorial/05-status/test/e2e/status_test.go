package e2e

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/05-status/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.Feature("nodes").
		Assess("are the ready pods", func(ctx context.Context, s *framework.Scope) {
			mc = create(ctx, s, "cache", 3)
			settled(ctx, s, mc)
			pods := &corev1.PodList{}
			NewWithT(s).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
			var names []string // as the API server sorts them
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", Equal(names)))
		}).
		Assess("follow a pod that is replaced", func(ctx context.Context, s *framework.Scope) {
			lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
			NewWithT(s).Expect(s.Client.Delete(ctx, lost)).To(Succeed())
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", And(HaveLen(3), Not(ContainElement(lost.Name)))))
			settled(ctx, s, mc)
		}).
		Assess("and never was it Available too early", func(ctx context.Context, s *framework.Scope) {
			NewWithT(s).Expect(tooEarly(s.Versions(ctx), mc.UID)).To(BeEmpty(), "expected no untrue Available=True")
		}).
		Test(t)
}

func TestAvailable(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.Feature("Available").
		Assess("is recorded as an event", func(ctx context.Context, s *framework.Scope) {
			mc = create(ctx, s, "cache", 1)
			settled(ctx, s, mc)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonAllReplicasReady})
		}).
		Assess("is about the spec as it is now", func(ctx context.Context, s *framework.Scope) {
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, s, mc)
			NewWithT(s).Expect(tooEarly(s.Versions(ctx), mc.UID)).To(BeEmpty(), "expected no untrue Available=True")
		}).
		Assess("stays true while pods are replaced, and none is missing", func(ctx context.Context, s *framework.Scope) {
			since := len(s.Versions(ctx))
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(11311)) })
			settled(ctx, s, mc)
			for _, version := range record.Of(s.Versions(ctx)[since:], mc.UID) {
				conditions, err := framework.ConditionsOf(version.Object)
				NewWithT(s).Expect(err).NotTo(HaveOccurred())
				NewWithT(s).Expect(meta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionAvailable)).To(BeTrue(), "expected that it stays Available")
			}
		}).
		Test(t)
}

// TestPodsFailing lets a simulated kubelet say that memcached crashes.
func TestPodsFailing(t *testing.T) {
	const crash = "testbed.example.com/simulate"
	var mc *cachev1alpha1.Memcached
	var pod *corev1.Pod
	annotate := func(ctx context.Context, s *framework.Scope, value string) {
		s.Helper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, crash, value))
		NewWithT(s).Expect(s.Client.Patch(ctx, pod, patch)).To(Succeed())
	}
	stage.Feature("failing pods").
		Setup(func(ctx context.Context, s *framework.Scope) {
			if s.Cluster.RunsPods {
				s.Skip("a real kubelet runs the pod and can't be told to let it crash")
			}
			mc = create(ctx, s, "cache", 1)
			settled(ctx, s, mc)
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", HaveLen(1)))
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
		}).
		Assess("are told of", func(ctx context.Context, s *framework.Scope) {
			annotate(ctx, s, `"crashloop"`)
			framework.WaitForConditions(ctx, s, mc,
				framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
				framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsFailing},
			)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonPodsFailing})
		}).
		Assess("and healed", func(ctx context.Context, s *framework.Scope) {
			annotate(ctx, s, "null")
			settled(ctx, s, mc)
		}).
		Test(t)
}

// The next two forbid what the operator, and what its Deployment wants, by a quota.

func TestRefusedDeployment(t *testing.T) {
	stage.Feature("a refused Deployment").
		Assess("is told of, and healed", func(ctx context.Context, s *framework.Scope) {
			none := forbid(ctx, s, "count/deployments.apps")
			mc := create(ctx, s, "cache", 1)
			degraded(ctx, s, mc, cachev1alpha1.ReasonDeploymentRefused)
			NewWithT(s).Expect(s.Client.Delete(ctx, none)).To(Succeed())
			settled(ctx, s, mc)
		}).
		Test(t)
}

func TestRefusedPods(t *testing.T) {
	stage.Feature("refused pods").
		Assess("are told of", func(ctx context.Context, s *framework.Scope) {
			forbid(ctx, s, corev1.ResourcePods)
			degraded(ctx, s, create(ctx, s, "cache", 1), cachev1alpha1.ReasonPodsRefused)
		}).
		Test(t)
}

// degraded waits until the Memcached says that a quota is in its way, in its status and as an event.
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
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("0")}},
	}
	if err := s.Client.Create(ctx, quota); err != nil {
		s.Fatal(err)
	}
	framework.WaitForObject(ctx, s, quota, HaveField("Status.Hard", HaveKey(what)))
	return quota
}

// tooEarly returns a sentence for each version of the Memcached whose status was written to say Available=True although
// fewer pods than its size had been ready before.
func tooEarly(versions []record.Version, uid types.UID) []string {
	var wrong []string
	before := ""
	for _, v := range record.Of(versions, uid) {
		status := fmt.Sprint(v.Object.Object["status"])
		written := status != before
		before = status
		available := framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}
		if v.Deleted || !written || !has(v.Object, available) {
			continue
		}
		size, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "size")
		ready := 0
		for _, pod := range record.Before(versions, "Pod", v.Revision) {
			if has(pod, framework.Condition{Type: string(corev1.PodReady), Status: metav1.ConditionTrue}) {
				ready++
			}
		}
		if ready < int(size) {
			wrong = append(wrong, fmt.Sprintf("revision %d says Available=True: %d of %d pods had been ready", v.Revision, ready, size))
		}
	}
	return wrong
}

// has returns whether an object's status has the condition.
func has(object client.Object, want framework.Condition) bool {
	conditions, err := framework.ConditionsOf(object)
	if err != nil {
		return false
	}
	for _, condition := range conditions {
		if condition.Type == want.Type && condition.Status == want.Status {
			return true
		}
	}
	return false
}
