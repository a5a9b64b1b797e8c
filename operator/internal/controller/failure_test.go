package controller

import (
	"slices"
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
	terminated = inContainer(func(status *corev1.ContainerStatus) {
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	})

	restarted = inContainer(func(status *corev1.ContainerStatus) {
		status.State.Running = &corev1.ContainerStateRunning{}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		status.RestartCount = 1
	})

	// flapping is a container that restarted long ago, and whose readiness probe fails now.
	flapping = func(p *corev1.Pod) {
		inContainer(func(status *corev1.ContainerStatus) {
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(10)}
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(9)}
		})(p)
		turnedUnready(at(500))(p)
	}

	// crashing is a container that terminated, which turned its pod unready, and runs again.
	crashing = func(p *corev1.Pod) {
		inContainer(func(status *corev1.ContainerStatus) {
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(10)}
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(9)}
		})(p)
		turnedUnready(at(10))(p)
	}

	recovered = inContainer(func(status *corev1.ContainerStatus) {
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

// inInit is inContainer for an init container.
func inInit(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		status := corev1.ContainerStatus{Name: "setup", Image: "example.com/setup"}
		change(&status)
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
	}
}

func waitingInit(reason string) func(*corev1.Pod) {
	return inInit(func(status *corev1.ContainerStatus) {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
	})
}

func exitedInit(code int32) func(*corev1.Pod) {
	return inInit(func(status *corev1.ContainerStatus) {
		status.State.Terminated, status.Ready = &corev1.ContainerStateTerminated{ExitCode: code}, code == 0
	})
}

// runningInit is an init container that runs, for the second time if it has exited with the code before.
func runningInit(codes ...int32) func(*corev1.Pod) {
	return inInit(func(status *corev1.ContainerStatus) {
		status.State.Running = &corev1.ContainerStateRunning{}
		for _, code := range codes {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		}
	})
}

// sidecar is a container that others have added to a pod.
func sidecar(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		status := corev1.ContainerStatus{Name: "side", Image: "no-such-image"}
		change(&status)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	}
}

// Degraded names the container that fails, and its image: memcached's, or one that others have added.
func TestFailuresNameTheContainer(t *testing.T) {
	pulling := func(status *corev1.ContainerStatus) {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}
	}
	exited := func(status *corev1.ContainerStatus) {
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	}
	initializing := waiting("PodInitializing")
	for _, test := range []struct {
		name   string
		pods   []corev1.Pod
		late   bool
		reason string
		names  []string
	}{
		{"memcached's image", []corev1.Pod{pod("a", waiting("ErrImagePull"))}, false, "ImagePullFailed", []string{` container "` + containerName, testImage}},
		{"a sidecar's image", []corev1.Pod{pod("a", running, sidecar(pulling))}, false, "ImagePullFailed", []string{` container "` + "side", "no-such-image"}},
		{"a sidecar that exits", []corev1.Pod{pod("a", running, sidecar(exited))}, false, "CrashLoop", []string{` container "` + "side", "no-such-image"}},
		{"an init container's image", []corev1.Pod{pod("a", waitingInit("ImagePullBackOff"), initializing)}, false, "ImagePullFailed", []string{` init container "` + "setup", "example.com/setup"}},
		{"an init container that cannot start", []corev1.Pod{pod("a", waitingInit("RunContainerError"), initializing)}, false, "ContainerStartFailed", []string{` init container "` + "setup", "example.com/setup"}},
		{"an init container that exits with an error", []corev1.Pod{pod("a", exitedInit(1), initializing)}, false, "CrashLoop", []string{` init container "` + "setup", "example.com/setup"}},
		{"an init container that runs again after an error", []corev1.Pod{pod("a", runningInit(1), initializing)}, false, "CrashLoop", []string{` init container "` + "setup", "example.com/setup"}},
		{"an init container that does not finish", []corev1.Pod{pod("a", runningInit(), initializing)}, true, "ContainerCreationStuck", []string{` init container "` + "setup", "example.com/setup"}},
		{"memcached after an init container", []corev1.Pod{pod("a", exitedInit(0), waiting("ErrImagePull"))}, false, "ImagePullFailed", []string{` container "` + containerName, testImage}},
		{"an init container that has done its work", []corev1.Pod{pod("a", exitedInit(0), initializing)}, false, "AsExpected", nil},
		{"an init container that runs again after another start", []corev1.Pod{pod("a", runningInit(0), initializing)}, false, "AsExpected", nil},
		{"an init container that runs", []corev1.Pod{pod("a", runningInit(), initializing)}, false, "AsExpected", nil},
		{
			"different containers in two pods, whatever their order",
			[]corev1.Pod{pod("a", sidecar(pulling)), pod("b", waiting("ErrImagePull"))}, false,
			"ImagePullFailed", []string{` container "side`, "no-such-image"},
		},
		{
			"the same pods in another order",
			[]corev1.Pod{pod("b", waiting("ErrImagePull")), pod("a", sidecar(pulling))}, false,
			"ImagePullFailed", []string{` container "side`, "no-such-image"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := testSnapshot(int32(len(test.pods)), test.pods...)
			if test.late {
				overdueRollout(&s)
				underWay(2 * testDeadline)(&s)
				s.deployment.created = metav1.NewTime(s.now.Add(-2 * testDeadline))
			}
			for form, snapshot := range map[string]snapshot{"whole": s, "as cached": trimmed(t, s)} {
				status, _ := computeStatus(snapshot)
				got := degradedOf(status)
				if got.Reason != test.reason {
					t.Errorf("%s: got %s: %s, want %s", form, got.Reason, got.Message, test.reason)
				}
				if missing := slices.DeleteFunc(slices.Clone(test.names), func(name string) bool { return strings.Contains(got.Message, name) }); len(missing) > 0 {
					t.Errorf("%s: %s does not contain %q", form, got.Message, missing)
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
