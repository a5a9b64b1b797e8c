package memcached

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.Test(t, features.New("status.nodes").
		WithLabel("contract", "1").
		Assess("names the ready pods, sorted", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 3)
			settled(ctx, t, s, mc)
			s.Expect(t).Object(ctx, mc, And(
				HaveField("Status.Nodes", Equal(podNames(ctx, t, s))),
				HaveField("Status.ReadyReplicas", BeEquivalentTo(3)),
			))
		})).
		Assess("follows a pod that is replaced", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			lost := mc.Status.Nodes[0]
			remove(ctx, t, s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: lost}})
			s.Expect(t).Object(ctx, mc, HaveField("Status.Nodes", And(HaveLen(3), Not(ContainElement(lost)))))
			settled(ctx, t, s, mc)
		})).
		Assess("never was Available before that many pods were ready, nor after one was lost", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			truthful(ctx, t, s, mc)
		})).
		Feature())
}

// podNames returns the names of the namespace's pods as the API server sorts them.
func podNames(ctx context.Context, t *testing.T, s *suite.Scope) []string {
	t.Helper()
	pods := &corev1.PodList{}
	if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

// TestFlapping shows that a container that was restarted some time ago, and whose readiness probe fails now, is not in a crash loop.
func TestFlapping(t *testing.T) {
	memcached.Test(t, features.New("a probe that fails after a restart").
		WithLabel("contract", "8").
		Assess("is no crash loop", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsSimulation(t, "their kubelets say how a pod is")
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			release := unready(ctx, t, s, mc, func(container *corev1.ContainerStatus) {
				container.RestartCount = 1
				container.State.Running.StartedAt = metav1.NewTime(time.Now().Add(-time.Hour))
				container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: container.State.Running.StartedAt}
			})
			s.Expect(t).Condition(ctx, mc, expect.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			s.Expect(t).Condition(ctx, mc, expect.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse})
			release()
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// unready is unreadyPod for the only pod of a Memcached.
func unready(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, edit func(*corev1.ContainerStatus)) (release func()) {
	t.Helper()
	pods := podsOf(ctx, t, s, mc)
	if len(pods) != 1 {
		t.Fatalf("expected that the Memcached %s has one pod; last seen: it has %d", mc.Name, len(pods))
	}
	return unreadyPod(ctx, t, s, &pods[0], edit)
}

// unreadyPod makes a pod unready, its container as edited, and keeps its kubelet from saying something else until release, which
// returns when the pod is ready again.
func unreadyPod(ctx context.Context, t *testing.T, s *suite.Scope, pod *corev1.Pod, edit func(*corev1.ContainerStatus)) (release func()) {
	t.Helper()
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
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := s.Client.Status().Patch(ctx, pod, rawMergePatch(`{"status":{"phase":"Running"}}`)); err != nil {
			t.Fatal(err)
		}
		s.Expect(t).Object(ctx, pod, HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue),
		))))
	}
}

// TestAvailableWhenBothSaySo owns the cluster. Whoever waits for Available and then looks at the Deployment finds the same: while
// the Deployment's controller is held and has not counted a pod that is ready again, its Memcached is not Available. The operator
// does not wait before it looks at a pod that is ready.
func TestAvailableWhenBothSaySo(t *testing.T) {
	memcached.TestAlone(t, features.New("the Deployment agrees").
		WithLabel("contract", "1").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(operatorWith(runner.WithArgs("--progress-interval=0")))).
		Assess("before the Memcached is Available", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsSimulation(t, "their kubelets say how a pod is")
			mc, later := create(ctx, t, s, "cache", 1), create(ctx, t, s, "later", 1)
			settled(ctx, t, s, mc)
			settled(ctx, t, s, later)
			release := unready(ctx, t, s, mc, func(*corev1.ContainerStatus) {})
			s.Expect(t).Condition(ctx, mc, expect.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("Status.ReadyReplicas", BeZero()))

			controllers := s.Component(t, embedded.KubeControllerManager)
			if err := controllers.Pause(ctx); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = controllers.Resume(context.WithoutCancel(ctx)) }) // where the test does not come to it
			release()
			change(ctx, t, s, later, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			s.Expect(t).Object(ctx, deploymentOf(later), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2)))) // the operator has come so far
			if err := controllers.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			settled(ctx, t, s, mc)
			settled(ctx, t, s, later)
			neverEarly(t, mc, s.Versions(ctx, t), readyPods(mc.UID), history.CountedBy(mc.Name))
		})).
		Feature())
}

// TestPort shows that the port is no decoration: memcached is told to listen there, in all pods, before the status says so.
func TestPort(t *testing.T) {
	memcached.Test(t, features.New("containerPort").
		WithLabel("contract", "3").
		Assess("reaches memcached's arguments and rolls out, and no capacity is lost", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			slowPods(ctx, t, s, mc)
			since := len(s.Versions(ctx, t))
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(11311)) })
			s.Expect(t).Objects(ctx, &corev1.PodList{}, And(HaveLen(2), HaveEach(HaveField("Spec.Containers", ConsistOf(And(
				HaveField("Args", ContainElements("-p", "11311")),
				HaveField("Ports", ConsistOf(HaveField("ContainerPort", BeEquivalentTo(11311)))),
			))))), client.InNamespace(s.Namespace))
			settled(ctx, t, s, mc)
			rolledOutAvailable(ctx, t, s, mc, since)
		})).
		Feature())
}
