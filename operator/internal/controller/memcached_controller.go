package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/lenient"
	"github.com/example/operator-testbed/operator/internal/metrics"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// MemcachedReconciler keeps the Deployment of each Memcached as its spec asks for, and its status up to date.
type MemcachedReconciler struct {
	// Client reads from the cache that CacheOptions describes, and writes to the API server.
	client.Client

	// APIReader reads from the API server. It is used only when a Deployment is about to be changed or is gone.
	APIReader client.Reader

	// Image is the memcached image: any valid reference.
	Image string

	// OmitRunAsUser leaves the user and group of the pods to the cluster.
	OmitRunAsUser bool

	// RecheckInterval is how long the reconciler waits before it checks a foreign Deployment again, and the longest wait before
	// it retries a refused write.
	RecheckInterval time.Duration

	// ProgressDeadline is how long the pods of a Memcached may go without progress before it is Degraded.
	ProgressDeadline time.Duration

	// ProgressInterval is how long mere progress, such as another ready pod, waits before it is written, so that several changes
	// are one write. A condition that changes is written at once. 0 holds nothing back.
	ProgressInterval time.Duration

	// FailureGrace is how long the reconciler retries a write of the Deployment that failed without being refused before the status
	// reports it, because such a failure may pass on its own. It is reported only if a later attempt fails as well.
	FailureGrace time.Duration

	// Recorder records the events. SetupWithManager sets it to the manager's, unless it is set already.
	Recorder events.EventRecorder

	lastWrites lastWrites

	// retries limits how often Memcacheds are reconciled again because of something that no event reports. SetupWithManager sets it.
	retries *retryLimiter
}

// The reconciler reads through watches. It needs "get" only for a Deployment that is about to be changed, and for a Memcached
// whose Deployment is gone, or whose last status got no answer. Two permissions are for the admission plugin
// OwnerReferencesPermissionEnforcement. Blocking the deletion of an owner takes the permission to update the owner's finalizers,
// although the operator sets none. Restoring an owner reference that was removed takes the permission to delete the Deployment,
// although the operator never deletes one.

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile ensures the Deployment of one Memcached and reports its status. It defaults the spec, ensures the Deployment,
// observes the pods, and writes the status, in this order. If the Deployment can't be written, the other steps follow anyway, so
// that the status is never about an earlier spec, and says what fails.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		if undecodable := new(lenient.UndecodableError); errors.As(err, &undecodable) {
			// Another version of the Memcached triggers another reconcile.
			announceUndecodable(r.Recorder, undecodable)
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		if apierrors.IsNotFound(err) {
			r.lastWrites.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		// The garbage collector deletes what the Memcached owns.
		return ctrl.Result{}, nil
	}
	setDefaults(&mc.Spec)

	deployment, failure := r.ensureDeploymentInTime(ctx, mc)
	if errors.Is(failure, errGone) || apierrors.HasStatusCause(failure, corev1.NamespaceTerminatingCause) {
		// The Memcached or its namespace is being deleted.
		return ctrl.Result{}, nil
	}

	observed, err := r.observe(ctx, mc, deployment)
	if err != nil {
		return ctrl.Result{}, errors.Join(failure, err)
	}
	observed.templateHash = r.desiredTemplateHash(mc, cmp.Or(deployment.selectorUID, mc.UID))
	observed.refused = r.refusalOf(observed, failure)
	if deployment.unknown && observed.refused.reason == "" {
		// There is nothing to report yet. The next attempt follows soon.
		return ctrl.Result{}, failure
	}

	status, settled := computeStatus(observed)
	if settled {
		heldBack, err := r.ensureStatus(ctx, observed, status)
		if err != nil {
			return ctrl.Result{}, errors.Join(failure, err)
		}
		if heldBack > 0 && failure == nil {
			return ctrl.Result{RequeueAfter: heldBack}, nil
		}
	}
	progressing := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing)
	if overwritten := new(overwrittenError); errors.As(failure, &overwritten) {
		return ctrl.Result{RequeueAfter: r.recheckAfter(mc, overwritten.retry)}, nil
	}
	return r.next(observed, progressing, failure)
}

// ensureDeploymentInTime is ensureDeployment within half of the time that is left for the reconcile. The other half is for the
// status, which would otherwise be late whenever the API server waits for a webhook that does not respond.
func (r *MemcachedReconciler) ensureDeploymentInTime(ctx context.Context, mc *cachev1alpha1.Memcached) (deploymentState, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	return r.ensureDeployment(ctx, mc)
}

// next returns when to reconcile again if no event comes first. err is what ensureDeployment returned; the condition Progressing
// is nil while it is too early to tell. An invalid spec waits for another spec. Any other refusal is retried, because no event
// says that a webhook, a policy or a quota no longer refuses the write, that a foreign Deployment is gone, or that the deadline
// has passed.
func (r *MemcachedReconciler) next(s snapshot, progressing *metav1.Condition, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errNameTaken), err == nil && s.deployment.uid == "":
		return ctrl.Result{RequeueAfter: r.recheckAfter(s.memcached, r.RecheckInterval)}, nil
	case errors.Is(err, errInvalidSpec):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case err != nil:
		return ctrl.Result{}, err
	case progressing == nil || progressing.Status == metav1.ConditionTrue:
		return ctrl.Result{RequeueAfter: s.untilOverdue()}, nil
	case progressing.Reason == cachev1alpha1.ReasonProgressDeadlineExceeded:
		return ctrl.Result{RequeueAfter: r.RecheckInterval}, nil
	}
	return ctrl.Result{}, nil
}

// ensureDeployment makes the Deployment of mc as desired, and returns its state. With an error, it returns the last known state,
// which is unknown if the error prevents reading it. It writes nothing if the cached Deployment is as desired, and computes nothing
// if it was so the last time and has not changed since. Before it changes a Deployment, it reads it from the API server, because
// the cache may not have caught up with the last write.
func (r *MemcachedReconciler) ensureDeployment(ctx context.Context, mc *cachev1alpha1.Memcached) (deploymentState, error) {
	cached := &appsv1.Deployment{}
	err := r.Get(ctx, nameOf(mc), cached, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return deploymentState{unknown: true}, err
	}
	var known deploymentState
	isCached := err == nil
	owned := isCached && isOurs(cached, mc)
	if owned {
		known = stateOf(cached)
	}
	if err := checkSpec(mc.Spec); err != nil {
		return known, err
	}
	if owned && (cached.DeletionTimestamp != nil || r.lastWrites.isAsDesired(mc, cached)) {
		return known, r.nothingDiffers(mc)
	}
	desired := desiredDeploymentSelecting(cmp.Or(known.selectorUID, mc.UID), mc, r.Image, r.podOptions()...)
	switch {
	case owned:
		paths := ssa.Drift(desired, cached)
		if len(paths) == 0 {
			r.lastWrites.recordAsDesired(mc, cached)
			return known, r.nothingDiffers(mc)
		}
		if !r.mayRepair(mc, paths) {
			return known, r.overwritten(mc)
		}
	case isCached:
		// Whether it may be adopted shows only in the live object.
	// A Memcached with a status had a Deployment, or its creation was refused. If the cache has none, only the API server knows
	// whether it exists.
	case !r.lastWrites.hasDeployment(mc) && len(mc.Status.Conditions) == 0:
		state, err := r.createDeployment(ctx, mc, desired)
		// A Deployment that exists but is not in the cache has lost the label that the cache selects by, or is not ours.
		if !apierrors.IsAlreadyExists(err) {
			return state, err
		}
		r.lastWrites.recordDeployment(mc)
	}

	var state deploymentState
	err = retry.OnError(retry.DefaultRetry, isOwnershipMoved, func() (err error) {
		state, err = r.repairDeployment(ctx, mc, desired, known)
		return err
	})
	return state, err
}

// repairDeployment makes the Deployment of mc as desired, based on the live objects instead of the cache. If it can't read the
// Deployment, it returns the state known from the cache, or an unknown one if the cache does not have it. It adopts a Deployment
// that was restored from a backup.
func (r *MemcachedReconciler) repairDeployment(ctx context.Context, mc *cachev1alpha1.Memcached, desired *acappsv1.DeploymentApplyConfiguration, known deploymentState) (deploymentState, error) {
	live := &appsv1.Deployment{}
	switch err := r.APIReader.Get(ctx, nameOf(mc), live); {
	case apierrors.IsNotFound(err):
		if err := r.checkExists(ctx, mc); err != nil {
			return deploymentState{}, err
		}
		return r.createDeployment(ctx, mc, desired)
	case err != nil:
		known.unknown = known.uid == ""
		return known, err
	}
	adoptable, err := r.isAdoptable(ctx, live, mc)
	if err != nil {
		return known, err
	}
	switch {
	case belongsToPredecessor(live, mc):
		// The garbage collector deletes it, or is already doing so.
		return deploymentState{terminating: true}, nil
	case !isOurs(live, mc) && !adoptable:
		return deploymentState{}, nameTaken(mc)
	case live.DeletionTimestamp != nil:
		return stateOf(live), nil
	case metav1.GetControllerOfNoCopy(live) == nil:
		// Deleting a Memcached with --cascade=orphan removes the owner reference from its Deployment first.
		if err := r.checkExists(ctx, mc); err != nil {
			return stateOf(live), err
		}
	}
	desired = r.keepSelector(desired, mc, selectorUID(live))
	paths := ssa.Drift(desired, live)
	if len(paths) == 0 {
		return stateOf(live), r.nothingDiffers(mc)
	}
	if err := r.checkRepair(mc, paths, live); err != nil {
		return stateOf(live), err
	}
	logf.FromContext(ctx).Info("Applying the Deployment", "differences", paths)
	applied, err := ssa.Apply(ctx, r.Client, cachev1alpha1.FieldManager, live, desired)
	if err != nil {
		return stateOf(live), err
	}
	return stateOf(applied), r.recordRepair(mc, paths, ssa.Drift(desired, applied))
}

// createDeployment creates the Deployment of mc. It fails if a Deployment of that name exists, no matter whose it is.
func (r *MemcachedReconciler) createDeployment(ctx context.Context, mc *cachev1alpha1.Memcached, desired *acappsv1.DeploymentApplyConfiguration) (deploymentState, error) {
	deployment, err := ssa.Deployment(desired)
	if err != nil {
		return deploymentState{}, err
	}
	if err := r.Create(ctx, deployment, client.FieldOwner(cachev1alpha1.FieldManager)); err != nil {
		return deploymentState{}, err
	}
	metrics.DeploymentWrites.WithLabelValues(metrics.OperationCreate).Inc()
	r.lastWrites.recordDeployment(mc)
	return stateOf(deployment), nil
}

func isOwnershipMoved(err error) bool { return errors.Is(err, ssa.ErrOwnershipMoved) }

// isOurs reports whether the Deployment belongs to mc: mc is its controller, or it has no controller now and selects pods by the
// UID of mc.
func isOurs(deployment *appsv1.Deployment, mc *cachev1alpha1.Memcached) bool {
	if metav1.GetControllerOfNoCopy(deployment) != nil {
		return isControlledBy(deployment, mc.UID)
	}
	return deployment.Spec.Selector != nil &&
		deployment.Spec.Selector.MatchLabels[cachev1alpha1.LabelMemcachedUID] == string(mc.UID)
}

// observe reads the pods of mc, and the ReplicaSets that may own them, from the cache. The caller adds why the Deployment is
// refused, and the hash of its template.
func (r *MemcachedReconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached, deployment deploymentState) (snapshot, error) {
	ofMemcached := []client.ListOption{
		client.InNamespace(mc.Namespace),
		client.MatchingFields{memcachedUIDIndex: string(cmp.Or(deployment.selectorUID, mc.UID))},
		client.UnsafeDisableDeepCopy, // nothing changes what a snapshot contains
	}
	replicaSets := &metav1.PartialObjectMetadataList{}
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := r.List(ctx, replicaSets, ofMemcached...); err != nil {
		return snapshot{}, err
	}
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, ofMemcached...); err != nil {
		return snapshot{}, err
	}
	if err := r.readUnanswered(ctx, mc); err != nil {
		return snapshot{}, err
	}
	return snapshot{
		memcached:        mc,
		deployment:       deployment,
		replicaSets:      replicaSets.Items,
		pods:             pods.Items,
		previous:         r.lastWrites.reportedStatus(mc),
		stored:           r.lastWrites.lastStatus(mc),
		now:              time.Now(),
		progressDeadline: r.ProgressDeadline,
	}, nil
}
