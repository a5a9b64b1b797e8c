package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func degraded(reason string, snapshot snapshot) statusCase {
	return statusCase{
		name:     reason,
		snapshot: snapshot,
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=True/" + reason},
	}
}

func blocked(reason string) statusCase {
	return statusCase{
		name:     reason,
		snapshot: testSnapshot(1).with(func(s *snapshot) { s.refused = refusal{reason, "no"} }),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/" + reason},
	}
}

func (c statusCase) named(name string) statusCase {
	c.name += ": " + name
	return c
}

var (
	terminated = container(func(status *corev1.ContainerStatus) {
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	})

	restarted = container(func(status *corev1.ContainerStatus) {
		status.State.Running = &corev1.ContainerStateRunning{}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		status.RestartCount = 1
	})

	// flapping is a container that restarted long ago, and whose readiness probe fails now.
	flapping = func(p *corev1.Pod) {
		container(func(status *corev1.ContainerStatus) {
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(10)}
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(9)}
		})(p)
		turnedUnready(at(500))(p)
	}

	// crashing is a container that terminated, which turned its pod unready, and runs again.
	crashing = func(p *corev1.Pod) {
		container(func(status *corev1.ContainerStatus) {
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(10)}
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(9)}
		})(p)
		turnedUnready(at(10))(p)
	}

	recovered = container(func(status *corev1.ContainerStatus) {
		status.State.Running = &corev1.ContainerStateRunning{}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		status.Ready = true
	})
)

func at(seconds int64) metav1.Time { return metav1.Unix(seconds, 0) }

func turnedUnready(at metav1.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at})
	}
}

func scheduled(is corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: is, Reason: reason})
	}
}

var failureCases = []statusCase{
	degraded("ImagePullFailed", testSnapshot(1, pod("a", waiting("ErrImagePull")))).named("first try"),
	degraded("ImagePullFailed", testSnapshot(1, pod("a", waiting("ImagePullBackOff")))).named("back off"),
	degraded("ImagePullFailed", testSnapshot(1, pod("a", waiting("InvalidImageName")))).named("no name"),
	degraded("ContainerStartFailed", testSnapshot(1, pod("a", waiting("CreateContainerConfigError")))).named("configuration"),
	degraded("ContainerStartFailed", testSnapshot(1, pod("a", waiting("RunContainerError")))).named("run"),
	degraded("CrashLoop", testSnapshot(1, pod("a", terminated))).named("exited"),
	degraded("CrashLoop", testSnapshot(1, pod("a", waiting("CrashLoopBackOff")))).named("back off"),
	degraded("CrashLoop", testSnapshot(1, pod("a", restarted, notReady))).named("runs again, not ready"),
	degraded("CrashLoop", testSnapshot(1, pod("a", crashing))).named("has just started again"),
	{
		name:     "a restart long ago, and a readiness probe that fails now",
		snapshot: testSnapshot(1, pod("a", flapping)),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
	degraded("Unschedulable", testSnapshot(1, pod("a", unschedulable))),
	{
		name:     "a pod that has a node, and one that the scheduler could not place",
		snapshot: testSnapshot(2, pod("a", scheduled(corev1.ConditionTrue, corev1.PodReasonUnschedulable)), pod("b", scheduled(corev1.ConditionFalse, corev1.PodReasonSchedulerError))),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
	degraded("ImagePullFailed", testSnapshot(4, pod("a", unschedulable), pod("b", terminated), pod("c", waiting("RunContainerError")), pod("d", waiting("ErrImagePull")))).
		named("before all others"),
	blocked("NameTaken"), blocked("FieldsOverwritten"), blocked("Invalid"), blocked("QuotaExceeded"), blocked("Forbidden"), blocked("WriteFailed"),
	{
		name: "the Deployment cannot be read",
		snapshot: testSnapshot(3, pod("a", ready), pod("b", ready)).with(func(s *snapshot) {
			s.refused = refusal{cachev1alpha1.ReasonWriteFailed, "no"}
			s.deployment = deploymentState{unknown: true}
			s.previous = cachev1alpha1.MemcachedStatus{Nodes: []string{"c"}, ReadyReplicas: 1, Replicas: 4}
		}),
		want:  []string{"Available=Unknown/DeploymentUnknown", "Progressing=False/Blocked", "Degraded=True/WriteFailed"},
		nodes: []string{"c"},
	},
	{
		name: "the change of a Deployment that serves is refused",
		snapshot: testSnapshot(1, pod("a", ready), pod("b", ready)).with(func(s *snapshot) {
			s.refused = refusal{cachev1alpha1.ReasonForbidden, "no"}
		}),
		want:  []string{"Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/Forbidden"},
		nodes: []string{"a", "b"},
	},
	degraded("QuotaExceeded", testSnapshot(1).with(func(s *snapshot) { s.deployment.podsRefused = "exceeded quota" })).named("for pods"),
	degraded("PodsRefused", testSnapshot(1, pod("a", unschedulable)).with(func(s *snapshot) {
		s.deployment.podsRefused = "violates PodSecurity"
	})),
	{
		name:     "containers that are being created",
		snapshot: testSnapshot(2, pod("a", waiting("ContainerCreating")), pod("b", waiting("PodInitializing"))),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
	{
		name:     "a pod that runs again and is ready",
		snapshot: testSnapshot(1, pod("a", recovered, ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "a pod that has not noticed that its second container fails",
		snapshot: testSnapshot(1, pod("a", recovered, waiting("ErrImagePull"), ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=True/ImagePullFailed"},
		nodes:    []string{"a"},
	},
	{
		name:     "pods of an earlier configuration that fail",
		snapshot: testSnapshot(1, pod("a", waiting("ErrImagePull"), outdated)),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
	},
	{
		name:     "foreign pods that fail",
		snapshot: testSnapshot(1, pod("a", waiting("ErrImagePull"), ownedByForeign)),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
}

// One failure is one write: the kubelets' reports change while it lasts, but its message does not, whether one pod fails or
// three.
func TestMessageOfAFailureIsStable(t *testing.T) {
	for reason, snapshots := range map[string][]snapshot{
		"ImagePullFailed": {
			testSnapshot(3, pod("a", waiting("ErrImagePull"))),
			testSnapshot(3, pod("a", waiting("ImagePullBackOff")), pod("b", waiting("ErrImagePull"))),
			testSnapshot(3, pod("b", waiting("ImagePullBackOff")), pod("a", waiting("ErrImagePull")), pod("c", waiting("ContainerCreating"))),
		},
		"CrashLoop": {
			testSnapshot(1, pod("a", terminated)),
			testSnapshot(1, pod("a", waiting("CrashLoopBackOff"))),
			testSnapshot(1, pod("a", restarted)),
		},
	} {
		t.Run(reason, func(t *testing.T) {
			first, _ := computeStatus(snapshots[0])
			for i, next := range snapshots[1:] {
				status, _ := computeStatus(next)
				if !sameStatus(first, status) {
					t.Errorf("snapshot %d reads %+v, want %+v", i+1, status, first)
				}
			}
		})
	}
}

func TestImagePullFailureNamesTheImage(t *testing.T) {
	status, _ := computeStatus(testSnapshot(1, pod("a", waiting("ErrImagePull"))))
	if message := status.Conditions[2].Message; !strings.Contains(message, testImage) {
		t.Errorf("message = %q, want it to name %s", message, testImage)
	}
}
