package controller

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

// computeStatus returns the status of mc, computed from its Deployment and its pods as they were read.
func computeStatus(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment, pods []corev1.Pod) cachev1alpha1.MemcachedStatus {
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
	if len(status.Nodes) >= int(size) && deployment.Status.AvailableReplicas >= size {
		set(cachev1alpha1.ConditionAvailable, true, cachev1alpha1.ReasonAllReplicasReady, counted)
	} else {
		set(cachev1alpha1.ConditionAvailable, false, cachev1alpha1.ReasonReplicasNotReady, counted)
	}
	if len(status.Nodes) == int(size) && rolledOut(deployment, size) {
		set(cachev1alpha1.ConditionProgressing, false, cachev1alpha1.ReasonConverged, "There is nothing to do.")
	} else {
		set(cachev1alpha1.ConditionProgressing, true, cachev1alpha1.ReasonRollingOut, "Waiting for the Deployment.")
	}
	return status
}

// rolledOut reports whether the Deployment has size pods, all of them available and made from its current template. A status
// that the Deployment's controller wrote for an earlier spec does not count.
func rolledOut(deployment *appsv1.Deployment, size int32) bool {
	if deployment.Status.ObservedGeneration != deployment.Generation {
		return false
	}
	status := deployment.Status
	return status.Replicas == size && status.UpdatedReplicas == size && status.AvailableReplicas == size
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
