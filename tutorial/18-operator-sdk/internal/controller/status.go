package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
)

// availableCondition returns the condition Available of mc, whose Deployment was last seen as deployment.
func availableCondition(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) metav1.Condition {
	size, ready := *mc.Spec.Size, deployment.Status.ReadyReplicas
	available := metav1.Condition{
		Type: "Available", Status: metav1.ConditionFalse, Reason: "PodsNotReady", ObservedGeneration: mc.Generation,
		Message: fmt.Sprintf("%d of %d pods are ready.", ready, size),
	}
	if deployment.Status.ObservedGeneration >= deployment.Generation && ready >= size {
		available.Status, available.Reason = metav1.ConditionTrue, "PodsReady"
	}
	return available
}
