package demo

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Health is how an object is, as the picture shows it with a color. Other drawings of the same objects show it in their own way.
type Health int

// The kinds of health.
const (
	// Wait means that there is something to wait for.
	Wait Health = iota
	// Good means that everything is as expected.
	Good
	// Bad means that something is wrong.
	Bad
)

func (t tone) health() Health {
	switch t {
	case good:
		return Good
	case bad:
		return Bad
	default:
		return Wait
	}
}

// MemcachedState returns what the picture says of a Memcached.
func MemcachedState(m *cachev1alpha1.Memcached) string { return fmt.Sprintf("size %d", size(m)) }

// DeploymentState returns what the picture says of a Deployment, and how that is.
func DeploymentState(d *appsv1.Deployment) (string, Health) {
	return readyText(d), readyTone(d).health()
}

// PodState returns what the picture says of a pod, and how that is.
func PodState(p *corev1.Pod) (string, Health) { return podText(p), podTone(p).health() }

// ConditionHealth returns how a condition of a Memcached is.
func ConditionHealth(c metav1.Condition) Health { return conditionTone(c).health() }
