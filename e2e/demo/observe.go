package demo

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Observe makes a State of what the API server holds. memcached may be nil. The
// Deployments and pods may be more than the Memcached's own: only the Deployment
// that it controls and the pods that carry its UID are taken.
func Observe(memcached *cachev1alpha1.Memcached, deployments []*appsv1.Deployment, pods []*corev1.Pod) State {
	if memcached == nil {
		return State{}
	}
	state := State{Memcached: memcached}
	for _, d := range deployments {
		if metav1.IsControlledBy(d, memcached) {
			state.Deployment = d
		}
	}
	for _, p := range pods {
		if p.Labels[cachev1alpha1.LabelMemcachedUID] == string(memcached.UID) {
			state.Pods = append(state.Pods, p)
		}
	}
	slices.SortFunc(state.Pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return state
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// word says of a pod what `kubectl get pods` prints as its STATUS.
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
