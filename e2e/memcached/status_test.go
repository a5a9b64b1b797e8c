package memcached

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	framework.Given(memcached.Feature("status.nodes").WithLabel("contract", "1"), created(3, 5)).
		Assess("names the ready pods, sorted", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			framework.WaitForObject(ctx, s, mc, And(
				HaveField("Status.Nodes", Equal(podNames(ctx, s))),
				HaveField("Status.ReadyReplicas", BeEquivalentTo(*mc.Spec.Size)),
			))
		}).
		Assess("follows a pod that is replaced", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			lost := mc.Status.Nodes[0]
			remove(ctx, s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: lost}})
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", And(HaveLen(int(*mc.Spec.Size)), Not(ContainElement(lost)))))
			settled(ctx, s, mc)
		}).
		Assess("are what Available waits for", also(portable.AvailableNotEarly)).
		Assess("and what it ends with", also(portable.FailureShows)).
		Assess("never was Available before that many pods were ready, nor after one was lost", truthful).
		Test(t)
}

// podNames returns the names of the namespace's pods as the API server sorts them.
func podNames(ctx context.Context, s *framework.Scope) []string {
	s.Helper()
	pods := &corev1.PodList{}
	if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

// TestFlapping shows that a container that was restarted some time ago, and whose readiness probe fails now, is not in a crash loop.
func TestFlapping(t *testing.T) {
	memcached.Feature("a probe that fails after a restart").
		WithLabel("contract", "8").
		Assess("is no crash loop", func(ctx context.Context, s *framework.Scope) {
			s.NeedsSimulation("their kubelets say how a pod is")
			mc := create(ctx, s, s.NewName("cache"), single)
			settled(ctx, s, mc)
			release := unready(ctx, s, mc, func(container *corev1.ContainerStatus) {
				container.RestartCount = 1
				container.State.Running.StartedAt = metav1.NewTime(time.Now().Add(-time.Hour))
				container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: container.State.Running.StartedAt}
			})
			framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse})
			release()
			settled(ctx, s, mc)
		}).
		Test(t)
}

// unready is unreadyPod for the only pod of a Memcached.
func unready(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, edit func(*corev1.ContainerStatus)) (release func()) {
	s.Helper()
	pods := podsOf(ctx, s, mc)
	if len(pods) != 1 {
		s.Fatalf("expected that the Memcached %s has one pod; last seen: it has %d", mc.Name, len(pods))
	}
	return unreadyPod(ctx, s, &pods[0], edit)
}

// unreadyPod makes a pod unready, its container as edited, and keeps its kubelet from saying something else until release, which
// returns when the pod is ready again.
func unreadyPod(ctx context.Context, s *framework.Scope, pod *corev1.Pod, edit func(*corev1.ContainerStatus)) (release func()) {
	s.Helper()
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodUnknown // nobody plays the kubelet of such a pod
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			condition.Status, condition.LastTransitionTime = corev1.ConditionFalse, metav1.Now()
		}
	}
	container := &pod.Status.ContainerStatuses[0]
	container.Ready = false
	edit(container)
	if err := s.Client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before)); err != nil {
		s.Fatal(err)
	}
	return func() {
		s.Helper()
		if err := s.Client.Status().Patch(ctx, pod, rawMergePatch(`{"status":{"phase":"Running"}}`)); err != nil {
			s.Fatal(err)
		}
		framework.WaitForObject(ctx, s, pod, HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue),
		))))
	}
}

// TestAvailableWhenBothSaySo owns the cluster. If you wait for Available, and then look at the Deployment, you find the same.
func TestAvailableWhenBothSaySo(t *testing.T) {
	memcached.Feature("the Deployment agrees").
		WithLabel("contract", "1").
		WithLabel("disruptive", "cluster").
		Assess("before the Memcached is Available", portable.DeploymentAgrees).
		TestAlone(t)
}

// TestPort shows that the port is real: memcached's arguments name it, in all pods, before the status is about it.
func TestPort(t *testing.T) {
	memcached.Feature("containerPort").
		WithLabel("contract", "3").
		WithLabel("contract", "1").
		Assess("reaches memcached's arguments", portable.Port).
		Assess("and rolls out, and no capacity is lost", portable.RolloutKeepsAvailable).
		Assess("and the status says until when", portable.RolloutProgresses).
		Test(t)
}
