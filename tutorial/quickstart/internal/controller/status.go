package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/quickstart/api/v1alpha1"
)

// computeStatus returns the status of mc, given how many of its pods are ready.
func computeStatus(mc *cachev1alpha1.Memcached, ready int32) cachev1alpha1.MemcachedStatus {
	available := metav1.Condition{
		Type: "Available", Status: metav1.ConditionFalse, Reason: "ReplicasNotReady", ObservedGeneration: mc.Generation,
		Message: fmt.Sprintf("%d of %d replicas are ready.", ready, mc.Spec.Size),
	}
	if ready >= mc.Spec.Size {
		available.Status, available.Reason = metav1.ConditionTrue, "AllReplicasReady"
	}
	status := *mc.Status.DeepCopy()
	status.ReadyReplicas = ready
	meta.SetStatusCondition(&status.Conditions, available)
	return status
}
