package rollout

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podWith returns a pod that is not ready, with containers in these states.
func podWith(name string, statuses ...corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)},
		Status: corev1.PodStatus{
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
			ContainerStatuses: statuses,
		},
	}
}

func waiting(reason, message string, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "manager", RestartCount: restarts,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func running() corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "manager", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

// TestFails shows which versions of a pod, one after the other, end a wait. The first version is how the pod was found.
func TestFails(t *testing.T) {
	crash := func(restarts int32) corev1.ContainerStatus {
		return waiting("CrashLoopBackOff", "back-off 10s", restarts)
	}
	for name, tc := range map[string]struct {
		versions []corev1.ContainerStatus
		want     []bool
	}{
		"a crash":                         {[]corev1.ContainerStatus{running(), crash(1)}, []bool{false, true}},
		"a crash before the wait":         {[]corev1.ContainerStatus{crash(3), crash(3), running()}, []bool{false, false, false}},
		"a crash before, and another one": {[]corev1.ContainerStatus{crash(3), crash(4)}, []bool{false, true}},
		"an image, at the second attempt": {[]corev1.ContainerStatus{waiting("ContainerCreating", "", 0), waiting("ErrImagePull", "not found", 0), waiting("ImagePullBackOff", "not found", 0)}, []bool{false, false, true}},
		"an image before the wait":        {[]corev1.ContainerStatus{waiting("ImagePullBackOff", "", 0), running()}, []bool{false, false}},
		"an image before, and still":      {[]corev1.ContainerStatus{waiting("ImagePullBackOff", "", 0), waiting("ErrImagePull", "", 0), waiting("ImagePullBackOff", "", 0)}, []bool{false, false, true}},
		"a missing ConfigMap":             {[]corev1.ContainerStatus{waiting("CreateContainerConfigError", `configmap "x" not found`, 0)}, []bool{true}},
		"no name of an image":             {[]corev1.ContainerStatus{waiting("InvalidImageName", "", 0)}, []bool{true}},
		"a slow container runtime":        {[]corev1.ContainerStatus{running(), waiting("CreateContainerError", "context deadline exceeded", 0)}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			old := earlier{}
			var got []bool
			for i, version := range tc.versions {
				got = append(got, old.fails(podWith("a", version), i == 0))
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}

	g := NewWithT(t)
	deleted := podWith("a", waiting("InvalidImageName", "", 0))
	deleted.DeletionTimestamp = &metav1.Time{}
	g.Expect(earlier{}.fails(deleted, false)).To(BeFalse(), "a pod that is deleted")
	unschedulable := podWith("a")
	unschedulable.Status.Conditions = append(unschedulable.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
	g.Expect(earlier{}.fails(unschedulable, false)).To(BeFalse(), "a pod without a node")
	init := podWith("a", waiting("PodInitializing", "", 0))
	init.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("CreateContainerConfigError", "", 0)}
	g.Expect(earlier{}.fails(init, false)).To(BeTrue(), "an init container")
}

// fake is what pods have to say.
type fake struct{ logErr error }

func (f fake) log(pod *corev1.Pod, container string) ([]string, error) {
	return []string{"starting", container + " of " + pod.Name + ": no such flag"}, f.logErr
}

func (f fake) events(*corev1.Pod) ([]string, error) {
	return []string{"Warning BackOff: Back-off restarting failed container"}, nil
}

func TestDescribe(t *testing.T) {
	g := NewWithT(t)
	crashing := func(name string) corev1.Pod {
		status := waiting("CrashLoopBackOff", "back-off 10s restarting failed container=manager pod="+name+"_default(uid-of-"+name+")", 2)
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
		return *podWith(name, status)
	}
	pending := podWith("operator-3")
	pending.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available"}}
	ready := podWith("operator-4")
	ready.Status.Conditions[0].Status = corev1.ConditionTrue
	pods := []corev1.Pod{crashing("operator-1"), crashing("operator-2"), *pending, *ready}
	g.Expect(describe(pods, fake{})).To(Equal(strings.TrimSpace(`
the pod operator-1, and the pod operator-2: the container manager waits: CrashLoopBackOff (back-off 10s restarting failed container=manager pod=operator-1_default), exit code 2 (Error)
  the last lines of the log of manager:
    starting
    manager of operator-1: no such flag
  its events:
    Warning BackOff: Back-off restarting failed container
the pod operator-3: Unschedulable: 0/2 nodes are available
  its events:
    Warning BackOff: Back-off restarting failed container
`)))
	g.Expect(describe(pods[:1], fake{logErr: errors.New("the kubelet is away")})).To(ContainSubstring("  the last lines of the log of manager can't be read: the kubelet is away\n"))
	g.Expect(describe(pods[3:], fake{})).To(BeEmpty())
}
