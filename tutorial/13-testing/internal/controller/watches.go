package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/13-testing/api/v1alpha1"
)

// SetupWithManager makes the manager call Reconcile for a Memcached whenever an object changes that Reconcile reads.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(whenUpdated(memcachedDiffers))).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(memcachedOf), builder.WithPredicates(whenUpdated(podDiffers))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(r)
}

// memcachedOf returns a request for the pod's Memcached. Owns can't find it, because the pod is owned by a ReplicaSet, which
// is owned by the Deployment.
func memcachedOf(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetAnnotations()[annotationMemcached]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// whenUpdated returns a predicate that accepts every creation and deletion, and the updates for which differ returns true.
func whenUpdated(differ func(before, after client.Object) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return differ(e.ObjectOld, e.ObjectNew) }}
}

// memcachedDiffers reports whether an update changed the spec, which the generation counts, or the status, which the reconciler
// compares with the next one.
func memcachedDiffers(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		!equality.Semantic.DeepEqual(before.(*cachev1alpha1.Memcached).Status, after.(*cachev1alpha1.Memcached).Status)
}

// podDiffers reports whether an update changed a part of the pod from which the status is computed.
func podDiffers(before, after client.Object) bool {
	a, b := before.(*corev1.Pod), after.(*corev1.Pod)
	return !a.DeletionTimestamp.Equal(b.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions) ||
		!equality.Semantic.DeepEqual(a.Status.ContainerStatuses, b.Status.ContainerStatuses)
}
