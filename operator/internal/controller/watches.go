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
	"github.com/example/operator-testbed/operator/internal/lenient"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

const (
	// memcachedUIDIndex finds pods and ReplicaSets by the UID of their Memcached.
	memcachedUIDIndex = "metadata.labels." + cachev1alpha1.LabelMemcachedUID

	// readyDelay is the longest time that a reconcile waits after a pod has become ready, because other pods and the Deployment's
	// count often follow.
	readyDelay = 100 * time.Millisecond
)

// SetupWithManager registers the reconciler with mgr, and its watches. The manager's own options set how many Memcacheds are
// reconciled at once, and for how long.
func (r *MemcachedReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.retries = newRetryLimiter(r.RecheckInterval)
	if err := indexFields(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(cachev1alpha1.FieldManager)
	}
	if err := mgr.Add(&metrics.Collector{Reader: mgr.GetCache(), Registry: ctrlmetrics.Registry}); err != nil {
		return err
	}
	toMemcached := handler.EnqueueRequestsFromMapFunc(memcachedOf)
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.isRelevantMemcached})).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.Funcs{CreateFunc: isObserved, UpdateFunc: isRelevantChange})).
		WatchesMetadata(&appsv1.ReplicaSet{}, toMemcached, builder.WithPredicates(predicate.Funcs{UpdateFunc: isRelevantChange})).
		Watches(&corev1.Pod{}, podHandler{toMemcached, min(readyDelay, r.ProgressInterval)}, builder.WithPredicates(podPredicate)).
		WithOptions(controller.Options{
			// A refused write is retried soon at first and then less and less often, but at least as often as a foreign
			// Deployment is checked, because no event says that a quota was raised or a permission restored.
			RateLimiter: r.retries,
		}).
		Complete(r)
}

// isSpecChange reports whether an update of a Memcached changes its spec, which the generation counts. The operator's own writes
// of the status must not trigger a reconcile. The UID matters when a watch breaks while a Memcached is deleted and created again:
// client-go then reports an update from one to the other, and both may have the same generation.
func isSpecChange(update event.UpdateEvent) bool {
	return update.ObjectOld.GetUID() != update.ObjectNew.GetUID() || update.ObjectOld.GetGeneration() != update.ObjectNew.GetGeneration()
}

// isRelevantMemcached reports whether an update of a Memcached changes its spec, or its status to one that the operator did not write,
// or whether it can be decoded. An edit of the status by others can make that impossible, and another one possible again.
func (r *MemcachedReconciler) isRelevantMemcached(update event.UpdateEvent) bool {
	if isSpecChange(update) {
		return true
	}
	if r.lastWrites.isOwn(update.ObjectNew) { // so it can be decoded
		return lenient.IsUndecodable(update.ObjectOld)
	}
	mc, err := lenient.Decoded(update.ObjectNew)
	return (err != nil) != lenient.IsUndecodable(update.ObjectOld) || mc != nil && r.lastWrites.isEdited(mc)
}

// isObserved reports whether a Deployment that is seen for the first time has already been seen by its controller. If not, the
// operator has just created it, and an update is about to follow.
func isObserved(creation event.CreateEvent) bool {
	deployment, isDeployment := creation.Object.(*appsv1.Deployment)
	return !isDeployment || deployment.Status.ObservedGeneration > 0
}

// isRelevantChange reports whether an update of a Deployment or of a ReplicaSet may change its Memcached's status, or is drift. Many
// updates by the Deployment's controller are neither.
func isRelevantChange(update event.UpdateEvent) bool {
	return !equality.Semantic.DeepEqual(relevantFields(update.ObjectOld), relevantFields(update.ObjectNew))
}

// relevantFields returns a shallow copy of a cached object, without the fields that change on every write.
func relevantFields(object client.Object) client.Object {
	switch object := object.(type) {
	case *appsv1.Deployment:
		copied := *object
		copied.ResourceVersion = ""
		if object.Status.ObservedGeneration == 0 {
			// The first revision of a Deployment that was just created comes before its status, and means nothing yet.
			copied.Annotations = only(object.Annotations, cachev1alpha1.AnnotationFieldsHash)
		}
		// While pods are missing, their own updates are enough, and so they are where there is one more during a rollout; the
		// Deployment's count matters only for whether all are ready.
		if state := stateOf(object); state.ready < state.replicas {
			copied.Status.ReadyReplicas = 0
		} else {
			copied.Status.ReadyReplicas = state.replicas
		}
		return &copied
	case *metav1.PartialObjectMetadata:
		copied := *object
		copied.ResourceVersion = ""
		return &copied
	}
	return object
}

// podPredicate lets through what may change the status of a pod's Memcached.
var podPredicate = predicate.Funcs{CreateFunc: isRelevantCreation, UpdateFunc: isRelevantUpdate, DeleteFunc: isRelevantDeletion}

// isRelevantCreation reports whether a pod that is seen for the first time may change its Memcached's status. A pod that was just
// created does not, because the size of the Deployment already accounts for it.
func isRelevantCreation(creation event.CreateEvent) bool {
	pod, isPod := creation.Object.(*corev1.Pod)
	return !isPod || isRelevantUpdate(event.UpdateEvent{ObjectOld: &corev1.Pod{ObjectMeta: pod.ObjectMeta}, ObjectNew: pod})
}

// isRelevantUpdate reports whether an update of a pod may change its Memcached's status. A pod is updated three or four times before it is
// ready, and only the last update counts.
func isRelevantUpdate(update event.UpdateEvent) bool {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	if !isPod || !isPodToo {
		return true
	}
	return isReady(*before) != isReady(*after) || isGone(*before) != isGone(*after) || failureOf(*before) != failureOf(*after) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

// isRelevantDeletion reports whether the end of a pod may change its Memcached's status. A pod that was going, or had finished, has not
// counted since then.
func isRelevantDeletion(deletion event.DeleteEvent) bool {
	pod, isPod := deletion.Object.(*corev1.Pod)
	return !isPod || !isGone(*pod)
}

// podHandler triggers a reconcile for the Memcached of a pod: after the delay if the pod has just become ready, at once
// otherwise.
type podHandler struct {
	handler.EventHandler
	delay time.Duration
}

// Update implements handler.EventHandler.
func (h podHandler) Update(ctx context.Context, update event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	if !isPod || !isPodToo || isReady(*before) || !isReady(*after) || failureOf(*before) != "" {
		h.EventHandler.Update(ctx, update, queue)
		return
	}
	for _, request := range memcachedOf(ctx, after) {
		queue.AddAfter(request, h.delay)
	}
}

// failureOf returns the message of the failure that a pod shows, or "".
func failureOf(pod corev1.Pod) string {
	_, message := firstOf(failures, []corev1.Pod{pod})
	return message
}

// indexFields registers the fields that the reconciler lists objects by.
func indexFields(ctx context.Context, indexer client.FieldIndexer) error {
	for _, object := range indexed() {
		if err := indexer.IndexField(ctx, object, memcachedUIDIndex, memcachedUID); err != nil {
			return err
		}
	}
	return indexer.IndexField(ctx, &cachev1alpha1.Memcached{}, uidIndex, uidOf)
}

// indexed returns the kinds of objects that are listed by the UID of their Memcached.
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

// memcachedOf returns the Memcached that a pod or a ReplicaSet is for, by its name. A newer Memcached may have that name by now.
func memcachedOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[labelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}
