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
	reason  string
	message func(image string) string
	inPod   func(corev1.Pod) bool
}

// failures are the failures that are reported as soon as a pod shows them. The first one that matches is reported.
var failures = []failure{
	{
		cachev1alpha1.ReasonImagePullFailed,
		func(image string) string {
			return fmt.Sprintf("The image %q cannot be pulled; the events of the pods say why.", image)
		},
		// The kubelet alternates between ErrImagePull and ImagePullBackOff.
		waitingFor("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
			"RegistryUnavailable", "SignatureValidationFailed"),
	},
	{
		cachev1alpha1.ReasonContainerStartFailed,
		func(string) string {
			return "The container cannot be created or started; the events of the pods say why."
		},
		waitingFor("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CreatePodSandboxError",
			"ConfigPodSandboxError", "StartError", "PreCreateHookError", "PreStartHookError", "PostStartHookError"),
	},
	{
		cachev1alpha1.ReasonCrashLoop,
		func(string) string {
			return "The memcached container exited and is being restarted; the logs of the pods may say why."
		},
		inCrashLoop,
	},
	{
		cachev1alpha1.ReasonUnschedulable,
		func(string) string {
			return "No node can take another pod; the events of the pods say why."
		},
		isUnschedulable,
	},
}

// stalls are states that every pod goes through when it starts. They are failures only after the progress deadline.
var stalls = []failure{
	{
		cachev1alpha1.ReasonContainerCreationStuck,
		func(string) string {
			return "The container of a pod is still being created; the events of the pods say why."
		},
		isBeingCreated,
	},
	{
		cachev1alpha1.ReasonProbeFailed,
		func(string) string {
			return "memcached runs in a pod that is not ready; the events of the pods say what the probe found."
		},
		runsUnready,
	},
}

// firstOf returns the first of the failures that any of the pods shows, or two empty strings.
func firstOf(failures []failure, pods []corev1.Pod, image string) (reason, message string) {
	for _, candidate := range failures {
		if slices.ContainsFunc(pods, candidate.inPod) {
			return candidate.reason, candidate.message(image)
		}
	}
	return "", ""
}

// waitingFor returns a function that reports whether a container of a pod is waiting with one of these reasons.
func waitingFor(reasons ...string) func(corev1.Pod) bool {
	return func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
			return status.State.Waiting != nil && slices.Contains(reasons, status.State.Waiting.Reason)
		})
	}
}

// inCrashLoop reports whether a container of the pod has terminated and has not been ready since. Between two crashes it is
// Terminated, then Waiting (CrashLoopBackOff), then Running for a while; to a user that is one failure, not three.
func inCrashLoop(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		switch {
		case status.State.Terminated != nil:
			return true
		case status.State.Waiting != nil:
			return status.State.Waiting.Reason == "CrashLoopBackOff"
		case status.State.Running == nil || status.LastTerminationState.Terminated == nil:
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

// isBeingCreated reports whether, as far as the kubelet has reported, a container of the pod is still to be created.
func isBeingCreated(pod corev1.Pod) bool {
	return waitingFor("ContainerCreating", "PodInitializing")(pod) || len(pod.Status.ContainerStatuses) == 0 && !isReady(pod)
}

func runsUnready(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.State.Running != nil && !status.Ready
	})
}
