package memcached

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/expect"
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
			if err := s.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: lost}}); err != nil {
				t.Fatal(err)
			}
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
			pods := &corev1.PodList{}
			if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
				t.Fatal(err)
			}
			pod := &pods.Items[0]
			before := pod.DeepCopy()
			pod.Status.Phase = corev1.PodUnknown // so that nobody plays its kubelet, and says something else
			setReady(pod, corev1.ConditionFalse)
			status := &pod.Status.ContainerStatuses[0]
			status.Ready, status.RestartCount = false, 1
			status.State.Running.StartedAt = metav1.NewTime(time.Now().Add(-time.Hour))
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: status.State.Running.StartedAt}
			if err := s.Client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Condition(ctx, mc, expect.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			s.Expect(t).Condition(ctx, mc, expect.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse})
			if err := s.Client.Status().Patch(ctx, pod, rawMergePatch(`{"status":{"phase":"Running"}}`)); err != nil {
				t.Fatal(err)
			}
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// setReady sets the pod's condition Ready, as of now.
func setReady(pod *corev1.Pod, value corev1.ConditionStatus) {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			condition.Status, condition.LastTransitionTime = value, metav1.Now()
		}
	}
}

// TestPort shows that the port is no decoration: memcached is told to listen there, in all pods, before the status says so.
func TestPort(t *testing.T) {
	memcached.Test(t, features.New("containerPort").
		WithLabel("contract", "3").
		Assess("reaches memcached's arguments and rolls out", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = ptr.To[int32](11311) })
			s.Expect(t).Objects(ctx, &corev1.PodList{}, And(HaveLen(2), HaveEach(HaveField("Spec.Containers", ConsistOf(And(
				HaveField("Args", ContainElements("-p", "11311")),
				HaveField("Ports", ConsistOf(HaveField("ContainerPort", BeEquivalentTo(11311)))),
			))))), client.InNamespace(s.Namespace))
			settled(ctx, t, s, mc)
		})).
		Feature())
}
