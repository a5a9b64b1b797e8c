package demo

import (
	"cmp"
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Observe makes a State of objects. They may be more than the Memcached of that name and its own: only the Deployment that it controls and
// the pods that carry its UID are taken.
func Observe(name types.NamespacedName, objects iter.Seq[*unstructured.Unstructured]) State {
	var state State
	for object := range objects {
		if object.GetKind() == "Memcached" && client.ObjectKeyFromObject(object) == name {
			state.Memcached = Typed[cachev1alpha1.Memcached](object)
		}
	}
	if state.Memcached == nil {
		return State{}
	}
	for object := range objects {
		switch {
		case object.GetKind() == "Deployment" && metav1.IsControlledBy(object, state.Memcached):
			state.Deployment = Typed[appsv1.Deployment](object)
		case object.GetKind() == "Pod" && object.GetLabels()[cachev1alpha1.LabelMemcachedUID] == string(state.Memcached.UID):
			state.Pods = append(state.Pods, Typed[corev1.Pod](object))
		}
	}
	slices.SortFunc(state.Pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return state
}

// Typed returns an object as the type of its kind, as far as its fields fit.
func Typed[T any](object *unstructured.Unstructured) *T {
	result := new(T)
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, result)
	return result
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// word returns what `kubectl get pods` prints as the STATUS of a pod.
func word(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			return c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			return c.State.Terminated.Reason
		}
	}
	return cmp.Or(p.Status.Reason, string(p.Status.Phase))
}
