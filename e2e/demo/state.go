package demo

import (
	"slices"

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
	Memcached *Memcached
	// Deployment is nil until the operator has created it.
	Deployment *Deployment
	// Pods are the Deployment's pods, sorted by name.
	Pods []Pod
}

// Memcached is the custom resource.
type Memcached struct {
	Namespace, Name string
	// Size is spec.size: how many pods the user asked for.
	Size int32
	// Generation counts the changes of the spec. A condition that observed an
	// older one says nothing about the present spec.
	Generation int64
	// Conditions are status.conditions, in any order.
	Conditions []Condition
}

// Condition is one of the Memcached's status conditions.
type Condition struct {
	Type, Status, Reason, Message string
	ObservedGeneration            int64
}

// Deployment is what the operator made of the Memcached.
type Deployment struct {
	Name string
	// Ready and Wanted are status.readyReplicas and spec.replicas.
	Ready, Wanted int32
}

// Pod is one of the Deployment's pods.
type Pod struct {
	Name string
	// Node is empty until the pod is scheduled.
	Node string
	// Ready is the pod's Ready condition.
	Ready bool
	// Word is what `kubectl get pods` would show as STATUS: the phase, or the
	// reason why a container waits, or Terminating.
	Word string
}

// Condition returns the condition of a type, and whether it is set.
func (m *Memcached) Condition(conditionType string) (Condition, bool) {
	i := slices.IndexFunc(m.Conditions, func(c Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return Condition{}, false
	}
	return m.Conditions[i], true
}

// Converged reports whether the cluster is what the Memcached asks for: the
// Deployment has size ready pods, and the conditions say so of this very spec.
func (s State) Converged() bool {
	if s.Memcached == nil || s.Deployment == nil {
		return false
	}
	if s.Deployment.Wanted != s.Memcached.Size || s.Deployment.Ready != s.Memcached.Size {
		return false
	}
	for conditionType, status := range map[string]string{
		cachev1alpha1.ConditionAvailable:   "True",
		cachev1alpha1.ConditionProgressing: "False",
		cachev1alpha1.ConditionDegraded:    "False",
	} {
		c, ok := s.Memcached.Condition(conditionType)
		if !ok || c.Status != status || c.ObservedGeneration != s.Memcached.Generation {
			return false
		}
	}
	return true
}
