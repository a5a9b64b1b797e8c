package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// failure is a reason of Degraded that a pod can show, with its message for users. The message contains nothing that differs
// between pods or changes while the failure lasts, so one failure is one write of the status.
type failure struct {
	reason string
	// find returns the container of a pod that fails, or an empty one if the pod fails as a whole.
	find func(corev1.Pod) (failing container, found bool)
	// message returns the message about that container.
	message func(container) string
}

// container is a container of a pod, as messages name it.
type container struct {
	kind, name, image string
}

// String returns the container in words.
func (c container) String() string { return fmt.Sprintf("%s %q (image %q)", c.kind, c.name, c.image) }

// about returns a message with the container in the place of %s.
func about(format string) func(container) string {
	return func(c container) string { return fmt.Sprintf(format, c) }
}

// always returns a message that names no container.
func always(message string) func(container) string {
	return func(container) string { return message }
}

// The kinds of containers, as messages name them.
const (
	mainContainer = "container"
	initContainer = "init container"
)

// failures are the failures that are reported as soon as a pod shows them. The first one that matches is reported.
var failures = []failure{
	{
		cachev1alpha1.ReasonImagePullFailed,
		// The kubelet alternates between ErrImagePull and ImagePullBackOff.
		waitingFor("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
			"RegistryUnavailable", "SignatureValidationFailed"),
		func(c container) string {
			return fmt.Sprintf("The image %q of the %s %q cannot be pulled; the events of the pods say why.", c.image, c.kind, c.name)
		},
	},
	{
		cachev1alpha1.ReasonContainerStartFailed,
		waitingFor("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CreatePodSandboxError",
			"ConfigPodSandboxError", "StartError", "PreCreateHookError", "PreStartHookError", "PostStartHookError"),
		about("The %s cannot be created or started; the events of the pods say why."),
	},
	{
		cachev1alpha1.ReasonCrashLoop,
		inCrashLoop,
		about("The %s exited and is being restarted; the logs of the pods may say why."),
	},
	{
		cachev1alpha1.ReasonUnschedulable,
		wholePod(isUnschedulable),
		always("No node can take another pod; the events of the pods say why."),
	},
}

// stalls are states that every pod goes through when it starts. They are failures only after the progress deadline.
var stalls = []failure{
	{
		cachev1alpha1.ReasonContainerCreationStuck,
		isInitializing,
		about("The %s has not finished; the logs of the pods may say why."),
	},
	{
		cachev1alpha1.ReasonContainerCreationStuck,
		wholePod(isBeingCreated),
		always("The container of a pod is still being created; the events of the pods say why."),
	},
	{
		cachev1alpha1.ReasonProbeFailed,
		runsUnready,
		about("The %s runs in a pod that is not ready; the events of the pods say what the probe found."),
	},
}

// firstOf returns the first of the failures that any of the pods shows, or two empty strings. If the pods show it in different
// containers, the order of the pods makes no difference.
func firstOf(failures []failure, pods []corev1.Pod) (reason, message string) {
	for _, candidate := range failures {
		var messages []string
		for _, pod := range pods {
			if failing, found := candidate.find(pod); found {
				messages = append(messages, candidate.message(failing))
			}
		}
		if len(messages) > 0 {
			return candidate.reason, slices.Min(messages)
		}
	}
	return "", ""
}

// wholePod returns a function for a failure that is not about a container.
func wholePod(fails func(corev1.Pod) bool) func(corev1.Pod) (container, bool) {
	return func(pod corev1.Pod) (container, bool) { return container{}, fails(pod) }
}

// findContainer returns the first init container or container of the pod that fails. Init containers start first.
func findContainer(pod corev1.Pod, fails func(kind string, status corev1.ContainerStatus) bool) (container, bool) {
	for _, statuses := range []struct {
		kind string
		all  []corev1.ContainerStatus
	}{{initContainer, pod.Status.InitContainerStatuses}, {mainContainer, pod.Status.ContainerStatuses}} {
		for _, status := range statuses.all {
			if fails(statuses.kind, status) {
				return container{statuses.kind, status.Name, status.Image}, true
			}
		}
	}
	return container{}, false
}

// waitingFor returns a function that finds a container that is waiting with one of these reasons.
func waitingFor(reasons ...string) func(corev1.Pod) (container, bool) {
	return func(pod corev1.Pod) (container, bool) {
		return findContainer(pod, func(_ string, status corev1.ContainerStatus) bool { return isWaiting(status, reasons...) })
	}
}

func isWaiting(status corev1.ContainerStatus, reasons ...string) bool {
	return status.State.Waiting != nil && slices.Contains(reasons, status.State.Waiting.Reason)
}

// inCrashLoop finds a container that has terminated and has not been ready since. Between two crashes it is Terminated, then Waiting
// (CrashLoopBackOff), then Running for a while; to a user that is one failure, not three. An init container that exits with 0 has
// done its work.
func inCrashLoop(pod corev1.Pod) (container, bool) {
	return findContainer(pod, func(kind string, status corev1.ContainerStatus) bool {
		isFailure := func(terminated *corev1.ContainerStateTerminated) bool {
			return terminated != nil && (kind != initContainer || terminated.ExitCode != 0)
		}
		switch {
		case status.State.Terminated != nil:
			return isFailure(status.State.Terminated)
		case status.State.Waiting != nil:
			return status.State.Waiting.Reason == "CrashLoopBackOff"
		case status.State.Running == nil || !isFailure(status.LastTerminationState.Terminated):
			return false
		}
		return !status.Ready && !hasBeenReadySince(pod, status.State.Running.StartedAt)
	})
}

// hasBeenReadySince reports whether the pod, which is not ready now, was ready after a time. Its Ready condition has changed
// since then.
func hasBeenReadySince(pod corev1.Pod, since metav1.Time) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.LastTransitionTime.After(since.Time)
	})
}

func isUnschedulable(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable
	})
}

// isInitializing finds an init container that runs, and that the other containers wait for.
func isInitializing(pod corev1.Pod) (container, bool) {
	return findContainer(pod, func(kind string, status corev1.ContainerStatus) bool {
		return kind == initContainer && status.State.Running != nil && !status.Ready
	})
}

// isBeingCreated reports whether, as far as the kubelet has reported, a container of the pod is still to be created.
func isBeingCreated(pod corev1.Pod) bool {
	_, found := waitingFor("ContainerCreating", "PodInitializing")(pod)
	return found || len(pod.Status.ContainerStatuses) == 0 && !isReady(pod)
}

// runsUnready finds a container that runs and is not ready.
func runsUnready(pod corev1.Pod) (container, bool) {
	return findContainer(pod, func(_ string, status corev1.ContainerStatus) bool {
		return status.State.Running != nil && !status.Ready
	})
}
