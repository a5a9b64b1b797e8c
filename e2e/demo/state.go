package demo

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// conditionTypes are a Memcached's, in the order in which they are drawn.
var conditionTypes = []string{
	cachev1alpha1.ConditionAvailable,
	cachev1alpha1.ConditionProgressing,
	cachev1alpha1.ConditionDegraded,
}

// State is what there is to see of one Memcached at one moment.
type State struct {
	// Memcached is nil before it is created and after it is deleted.
	Memcached *cachev1alpha1.Memcached
	// Deployment is nil until the operator has created it.
	Deployment *appsv1.Deployment
	// Pods are the Deployment's pods, sorted by name.
	Pods []*corev1.Pod
}

// conditions returns the Memcached's conditions that are set, in the order in which they are drawn.
func (s State) conditions() []metav1.Condition {
	if s.Memcached == nil {
		return nil
	}
	var set []metav1.Condition
	for _, conditionType := range conditionTypes {
		if c := meta.FindStatusCondition(s.Memcached.Status.Conditions, conditionType); c != nil {
			set = append(set, *c)
		}
	}
	return set
}

// Outdated returns what to add to a condition of a Memcached that is about an earlier spec, and "" for one that is about the current
// spec.
func Outdated(m *cachev1alpha1.Memcached, c metav1.Condition) string {
	if c.ObservedGeneration == m.Generation {
		return ""
	}
	return fmt.Sprintf(" (about generation %d, not %d)", c.ObservedGeneration, m.Generation)
}

// tone is conditionTone for a condition of this state: one that is about an earlier spec says nothing about this one.
func (s State) tone(c metav1.Condition) tone {
	if Outdated(s.Memcached, c) != "" {
		return wait
	}
	return conditionTone(c)
}

// Converged reports whether the cluster is what the Memcached asks for: the
// Deployment has size ready pods, all of them are seen, and all conditions are
// as they should be of this very spec.
func (s State) Converged() bool {
	if s.Memcached == nil || s.Deployment == nil {
		return false
	}
	wanted, conditions := size(s.Memcached), s.conditions()
	return replicas(s.Deployment) == wanted && s.Deployment.Status.ReadyReplicas == wanted && s.readyPods() == wanted &&
		len(conditions) == len(conditionTypes) && !slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return s.tone(c) != good
	})
}

// readyPods may lag behind what the Deployment's status says: each kind has a watch of its own.
func (s State) readyPods() (ready int32) {
	for _, p := range s.Pods {
		if isReady(p) {
			ready++
		}
	}
	return ready
}

// size and replicas are what the API server defaults to 1.
func size(m *cachev1alpha1.Memcached) int32 { return ptr.Deref(m.Spec.Size, 1) }
func replicas(d *appsv1.Deployment) int32   { return ptr.Deref(d.Spec.Replicas, 1) }
