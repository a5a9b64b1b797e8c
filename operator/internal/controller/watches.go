package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

const (
	// memcachedUIDIndex finds pods and ReplicaSets by the UID of their Memcached.
	memcachedUIDIndex = "metadata.labels." + cachev1alpha1.LabelMemcachedUID

	// readyDelay is how long the news that a pod is ready waits for its siblings, and for the Deployment to count it.
	readyDelay = 100 * time.Millisecond

	// firstRetry is how long after a first failure the next try comes; each further one waits twice as long.
	firstRetry = 5 * time.Millisecond
)

// SetupWithManager makes mgr call the reconciler whenever something changes that it looks at. The manager's own options say
// how many Memcacheds are reconciled at once, and for how long.
func (r *MemcachedReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	for _, object := range indexed() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, object, memcachedUIDIndex, memcachedUID); err != nil {
			return err
		}
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(cachev1alpha1.FieldManager)
	}
	if err := mgr.Add(&metrics.Collector{Reader: mgr.GetCache(), Registry: ctrlmetrics.Registry}); err != nil {
		return err
	}
	toMemcached := handler.EnqueueRequestsFromMapFunc(memcachedOf)
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: isAnotherSpec})).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.Funcs{CreateFunc: isObserved, UpdateFunc: isChanged})).
		WatchesMetadata(&appsv1.ReplicaSet{}, toMemcached, builder.WithPredicates(predicate.Funcs{UpdateFunc: isChanged})).
		Watches(&corev1.Pod{}, podHandler{toMemcached}, builder.WithPredicates(predicate.Funcs{CreateFunc: isBornWithNews, UpdateFunc: isNews})).
		WithOptions(controller.Options{
			// What is refused is tried again soon at first and then less and less often, but at least as often as a
			// foreign Deployment is looked at: no event says that a quota was raised or a permission restored.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, r.RecheckInterval),
		}).
		Complete(r)
}

// isAnotherSpec returns whether an update of a Memcached is one of its spec, which the generation counts. A change of its own
// status must not wake the reconciler up. Where a watch broke while a Memcached was deleted and made again, client-go tells
// of an update from the one to the other, and both may have the same generation.
func isAnotherSpec(update event.UpdateEvent) bool {
	return update.ObjectOld.GetUID() != update.ObjectNew.GetUID() || update.ObjectOld.GetGeneration() != update.ObjectNew.GetGeneration()
}

// isObserved reports whether a Deployment that is seen for the first time has been seen by its controller, too. If not, the operator
// has just created it, and an update is about to follow.
func isObserved(creation event.CreateEvent) bool {
	deployment, isDeployment := creation.Object.(*appsv1.Deployment)
	return !isDeployment || deployment.Status.ObservedGeneration > 0
}

// isChanged reports whether an update of a Deployment or of a ReplicaSet may change its Memcached's status, or is drift. Its
// controller writes more often than that.
func isChanged(update event.UpdateEvent) bool {
	return !equality.Semantic.DeepEqual(whatCounts(update.ObjectOld), whatCounts(update.ObjectNew))
}

// whatCounts returns a shallow copy of a cached object, without what changes all the time.
func whatCounts(object client.Object) client.Object {
	switch object := object.(type) {
	case *appsv1.Deployment:
		copied := *object
		copied.ResourceVersion = ""
		if state := stateOf(object); state.ready < state.replicas {
			// The pods tell on their own how many of them are ready; the Deployment has to agree only once that is all.
			copied.Status.ReadyReplicas = 0
		}
		return &copied
	case *metav1.PartialObjectMetadata:
		copied := *object
		copied.ResourceVersion = ""
		return &copied
	}
	return object
}

// isBornWithNews reports whether a pod that is seen for the first time may change its Memcached's status. One that was just created
// does not: that it is there, the size of the Deployment has told.
func isBornWithNews(creation event.CreateEvent) bool {
	pod, isPod := creation.Object.(*corev1.Pod)
	return !isPod || isNews(event.UpdateEvent{ObjectOld: &corev1.Pod{ObjectMeta: pod.ObjectMeta}, ObjectNew: pod})
}

// isNews reports whether an update of a pod may change its Memcached's status. On its way to being ready a pod is updated three or
// four times, and only the last one counts.
func isNews(update event.UpdateEvent) bool {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	if !isPod || !isPodToo {
		return true
	}
	return isReady(*before) != isReady(*after) || isGone(*before) != isGone(*after) || failureOf(*before) != failureOf(*after) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

// podHandler wakes the reconciler up for the Memcached of a pod: in a moment if the pod is ready now, at once for everything else.
type podHandler struct{ handler.EventHandler }

// Update implements handler.EventHandler.
func (h podHandler) Update(ctx context.Context, update event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	if !isPod || !isPodToo || isReady(*before) || !isReady(*after) || failureOf(*before) != "" {
		h.EventHandler.Update(ctx, update, queue)
		return
	}
	for _, request := range memcachedOf(ctx, after) {
		queue.AddAfter(request, readyDelay)
	}
}

// failureOf returns the reason of Degraded that a pod shows, or "".
func failureOf(pod corev1.Pod) string {
	reason, _ := firstOf(failures, []corev1.Pod{pod}, "")
	return reason
}

// indexed are the kinds of objects that are found by the UID of their Memcached.
func indexed() []client.Object {
	replicaSet := &metav1.PartialObjectMetadata{}
	replicaSet.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	return []client.Object{replicaSet, &corev1.Pod{}}
}

// memcachedUID returns the UID in an object's label, if it has the label.
func memcachedUID(object client.Object) []string {
	if uid := object.GetLabels()[cachev1alpha1.LabelMemcachedUID]; uid != "" {
		return []string{uid}
	}
	return nil
}

// memcachedOf returns the Memcached that a pod or a ReplicaSet is for. It may be the successor of the one that they belong to.
func memcachedOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[labelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}
