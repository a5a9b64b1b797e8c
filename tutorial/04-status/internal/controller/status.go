package controller

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

// computeStatus returns the status of mc, computed from its Deployment and its pods as they were read, or from the error with which
// the API server refused the Deployment.
func computeStatus(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment, pods []corev1.Pod, refusal error) cachev1alpha1.MemcachedStatus {
	// A condition whose status stays the same keeps its lastTransitionTime.
	status := cachev1alpha1.MemcachedStatus{Conditions: slices.Clone(mc.Status.Conditions), Nodes: readyPods(pods)}
	set := func(conditionType string, is bool, reason, message string) {
		value := metav1.ConditionFalse
		if is {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: conditionType, Status: value, Reason: reason, Message: message, ObservedGeneration: mc.Generation,
		})
	}

	size := *mc.Spec.Size
	counted := fmt.Sprintf("%d of %d replicas are ready.", len(status.Nodes), size)
	// Pods of an earlier template serve until they are replaced: Available depends on how many are ready, Progressing on which.
	if len(status.Nodes) >= int(size) && availableReplicas(deployment) >= size {
		set(cachev1alpha1.ConditionAvailable, true, cachev1alpha1.ReasonAllReplicasReady, counted)
	} else {
		set(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonReplicasNotReady, counted)
	}
	if len(status.Nodes) == int(size) && rolledOut(deployment, size) {
		set(cachev1alpha1.ConditionProgressing, false, cachev1alpha1.ReasonConverged, "There is nothing to do.")
	} else {
		set(cachev1alpha1.ConditionProgressing, true, cachev1alpha1.ReasonRollingOut, "Waiting for the Deployment.")
	}

	if refusal != nil {
		set(cachev1alpha1.ConditionDegraded, true, cachev1alpha1.ReasonDeploymentRefused, refusal.Error())
	} else if message := podsRefused(deployment); message != "" {
		set(cachev1alpha1.ConditionDegraded, true, cachev1alpha1.ReasonPodsRefused, message)
	} else if message := podsFailing(pods); message != "" {
		set(cachev1alpha1.ConditionDegraded, true, cachev1alpha1.ReasonPodsFailing, message)
	} else {
		set(cachev1alpha1.ConditionDegraded, false, cachev1alpha1.ReasonAsExpected, "Nothing reports a failure.")
	}
	return status
}

// availableReplicas returns how many pods the Deployment's controller counts as available.
func availableReplicas(deployment *appsv1.Deployment) int32 {
	if deployment == nil {
		return 0
	}
	return deployment.Status.AvailableReplicas
}

// rolledOut reports whether the Deployment has size pods, all of them available and made from its current template. A status
// that the Deployment's controller wrote for an earlier spec does not count.
func rolledOut(deployment *appsv1.Deployment, size int32) bool {
	if deployment == nil || deployment.Status.ObservedGeneration != deployment.Generation {
		return false
	}
	status := deployment.Status
	return status.Replicas == size && status.UpdatedReplicas == size && status.AvailableReplicas == size
}

// podsRefused returns why the API server refuses the Deployment's pods, or "" if it does not.
func podsRefused(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}

// podsFailing returns why a container can't start, or "". While a kubelet retries to pull an image, it alternates between two
// reasons. Both get the same message here, so that the status does not change each time.
func podsFailing(pods []corev1.Pod) string {
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			if container.State.Waiting == nil {
				continue
			}
			switch container.State.Waiting.Reason {
			case "ErrImagePull", "ImagePullBackOff", "InvalidImageName":
				return fmt.Sprintf("The image %s can't be pulled.", container.Image)
			case "CrashLoopBackOff":
				return "memcached keeps exiting."
			}
		}
	}
	return ""
}

// readyPods returns the names of the pods that are ready, sorted.
func readyPods(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp.IsZero() {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

func isTrue(conditions []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(conditions, conditionType)
}

// writeStatus writes the status of mc if it has changed, and records the changes as events.
func (r *MemcachedReconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) error {
	if equality.Semantic.DeepEqual(mc.Status, status) {
		return nil
	}
	before := mc.DeepCopy()
	mc.Status = status
	if err := r.Status().Patch(ctx, mc, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.record(before, mc.Status)
	return nil
}

// record records an event for each of Available and Degraded that has become true.
func (r *MemcachedReconciler) record(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) {
	for conditionType, eventType := range map[string]string{
		cachev1alpha1.ConditionAvailable: corev1.EventTypeNormal,
		cachev1alpha1.ConditionDegraded:  corev1.EventTypeWarning,
	} {
		if isTrue(status.Conditions, conditionType) && !isTrue(mc.Status.Conditions, conditionType) {
			now := meta.FindStatusCondition(status.Conditions, conditionType)
			r.Recorder.Eventf(mc, nil, eventType, now.Reason, "Reconcile", "%s", now.Message)
		}
	}
}
