package controller

import (
	"context"
	"errors"
	"strings"
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
	"github.com/example/operator-testbed/operator/internal/metrics"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// MemcachedReconciler keeps the Deployment and the status of each Memcached true.
type MemcachedReconciler struct {
	// Client reads from the cache that CacheByObject describes, and writes to the API server.
	client.Client

	// APIReader reads from the API server. It is asked only when a Deployment is about to be changed or is gone.
	APIReader client.Reader

	// Image is the image of memcached: any legal reference.
	Image string

	// RecheckInterval is how long after it found its Deployment's name taken a Memcached is looked at again, and the longest
	// that it waits between two tries of what is refused.
	RecheckInterval time.Duration

	// ProgressDeadline is how long the pods of a Memcached may go without progress before it is Degraded.
	ProgressDeadline time.Duration

	// ProgressInterval is how long mere progress, such as another ready pod, waits until it is written: what comes within it is one
	// write. A condition that changes is written at once. 0 holds nothing back.
	ProgressInterval time.Duration

	// Recorder takes the events. SetupWithManager sets it to the manager's, unless it is set already.
	Recorder events.EventRecorder

	lastWrites lastWrites
}

// Reading is done through watches; "get" is for a Deployment that is about to be changed, and for a Memcached whose
// Deployment is gone.
// memcacheds/finalizers is not for finalizers: with the admission plugin OwnerReferencesPermissionEnforcement, who makes
// an object block the deletion of its owner must be allowed to set the finalizers of the owner. Nor does the operator ever
// delete a Deployment: the same plugin lets only who may delete an object put an owner reference back that was taken off it.

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile gives one Memcached its Deployment, and a status that says what there is. In this order: fill in the defaults of the
// spec, ensure the Deployment, observe the pods, report. If the Deployment is refused, the rest is done all the same, so that the
// status says why.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		if apierrors.IsNotFound(err) {
			r.lastWrites.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		// What the Memcached owns is garbage collected after it.
		return ctrl.Result{}, nil
	}
	setDefaults(&mc.Spec)

	desired := desiredDeployment(mc, r.Image)
	deployment, refusedBecause := r.ensureDeployment(ctx, mc, desired)
	if errors.Is(refusedBecause, errGone) || apierrors.HasStatusCause(refusedBecause, corev1.NamespaceTerminatingCause) {
		// The Memcached goes with its namespace.
		return ctrl.Result{}, nil
	}
	refused := refusalOf(refusedBecause)
	if refusedBecause != nil && refused.reason == "" {
		return ctrl.Result{}, refusedBecause
	}

	observed, err := r.observe(ctx, mc)
	if err != nil {
		return ctrl.Result{}, err
	}
	observed.deployment, observed.refused, observed.templateHash = deployment, refused, templateHash(desired)

	status, settled := computeStatus(observed)
	if settled {
		heldBack, err := r.ensureStatus(ctx, observed, status)
		if err != nil || heldBack > 0 {
			return ctrl.Result{RequeueAfter: heldBack}, err
		}
	}
	progressing := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing)
	return r.next(observed, progressing, refusedBecause)
}

// next returns when to reconcile again if nothing changes that is watched, given what became of the Deployment, and the condition
// Progressing, which is nil while it is too early to tell. An invalid spec waits for another spec. What somebody else refuses is
// retried, whatever they call it: no event says that a webhook, a policy or a quota is no longer in the way, that a foreign
// Deployment is gone, or that the pods have had enough time.
func (r *MemcachedReconciler) next(s snapshot, progressing *metav1.Condition, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errNameTaken), err == nil && s.deployment.uid == "":
		return ctrl.Result{RequeueAfter: r.RecheckInterval}, nil
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

// ensureDeployment makes the Deployment of mc as desired, and returns the state that it is in then; with an error, the
// state that is known. It writes nothing if the cached Deployment is as desired; before it changes one, it reads it from
// the API server, because the cache may not have caught up with the last write.
func (r *MemcachedReconciler) ensureDeployment(ctx context.Context, mc *cachev1alpha1.Memcached, desired *acappsv1.DeploymentApplyConfiguration) (deploymentState, error) {
	cached := &appsv1.Deployment{}
	err := r.Get(ctx, nameOf(mc), cached)
	if client.IgnoreNotFound(err) != nil {
		return deploymentState{}, err
	}
	var known deploymentState
	isCached := err == nil
	if isCached && isOurs(cached, mc) {
		known = stateOf(cached)
	}
	if err := checkSpec(mc.Spec); err != nil {
		return known, err
	}
	switch {
	case isCached:
		if isOurs(cached, mc) && (cached.DeletionTimestamp != nil || len(ssa.Drift(desired, cached)) == 0) {
			return known, nil
		}
	// Where there is a status there was an operator at work, so a Deployment that is not in the cache was made and is gone,
	// or could not be made: the live objects tell.
	case !r.lastWrites.hasCreated(mc) && len(mc.Status.Conditions) == 0:
		state, err := r.createDeployment(ctx, mc, desired)
		// One that exists and is not in the cache has lost the label by which the cache selects, or is not ours.
		if !apierrors.IsAlreadyExists(err) {
			return state, err
		}
	}

	var state deploymentState
	err = retry.OnError(retry.DefaultRetry, isOwnershipMoved, func() (err error) {
		state, err = r.repairDeployment(ctx, mc, desired, known)
		return err
	})
	return state, err
}

// repairDeployment makes the Deployment of mc as desired, whatever the cache says of it. It returns the state that is known
// if it can't find out more.
func (r *MemcachedReconciler) repairDeployment(ctx context.Context, mc *cachev1alpha1.Memcached, desired *acappsv1.DeploymentApplyConfiguration, known deploymentState) (deploymentState, error) {
	live := &appsv1.Deployment{}
	switch err := r.APIReader.Get(ctx, nameOf(mc), live); {
	case apierrors.IsNotFound(err):
		if err := r.checkExists(ctx, mc); err != nil {
			return deploymentState{}, err
		}
		return r.createDeployment(ctx, mc, desired)
	case err != nil:
		return known, err
	}
	switch {
	case isPredecessors(live, mc):
		// The garbage collector takes it away, if it does not already.
		return deploymentState{terminating: true}, nil
	case !isOurs(live, mc):
		return deploymentState{}, nameTaken(mc)
	case live.DeletionTimestamp != nil:
		return stateOf(live), nil
	case metav1.GetControllerOfNoCopy(live) == nil:
		// Who deletes a Memcached and wants to keep its Deployment (--cascade=orphan) has the owner reference taken off it.
		if err := r.checkExists(ctx, mc); err != nil {
			return stateOf(live), err
		}
	}
	paths := ssa.Drift(desired, live)
	if len(paths) == 0 {
		return stateOf(live), nil
	}
	logf.FromContext(ctx).Info("Applying the Deployment", "differences", paths)
	applied, err := ssa.Apply(ctx, r.Client, cachev1alpha1.FieldManager, live, desired)
	if err != nil {
		return stateOf(live), err
	}
	return stateOf(applied), nil
}

// checkExists returns errGone if mc, which was read from the cache, is not there any more or is being deleted. When a
// Memcached is deleted, its Deployment goes after it; the cache of Deployments may tell so first.
func (r *MemcachedReconciler) checkExists(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	live := &cachev1alpha1.Memcached{}
	err := r.APIReader.Get(ctx, nameOf(mc), live)
	if apierrors.IsNotFound(err) || err == nil && (live.UID != mc.UID || live.DeletionTimestamp != nil) {
		return errGone
	}
	return err
}

// createDeployment creates the Deployment of mc. It fails if there is one of that name, whosever it is.
func (r *MemcachedReconciler) createDeployment(ctx context.Context, mc *cachev1alpha1.Memcached, desired *acappsv1.DeploymentApplyConfiguration) (deploymentState, error) {
	deployment, err := ssa.Deployment(desired)
	if err != nil {
		return deploymentState{}, err
	}
	if err := r.Create(ctx, deployment, client.FieldOwner(cachev1alpha1.FieldManager)); err != nil {
		return deploymentState{}, err
	}
	metrics.DeploymentWrites.WithLabelValues(metrics.OperationCreate).Inc()
	r.lastWrites.recordCreation(mc)
	return stateOf(deployment), nil
}

// errGone is what ensureDeployment returns when there is no Memcached to keep a Deployment for.
var errGone = errors.New("the Memcached is gone")

func isOwnershipMoved(err error) bool { return errors.Is(err, ssa.ErrOwnershipMoved) }

// isOurs returns whether the Deployment belongs to mc: it controls it, or it did (the Deployment selects by its UID) and
// nobody does now.
func isOurs(deployment *appsv1.Deployment, mc *cachev1alpha1.Memcached) bool {
	if metav1.GetControllerOfNoCopy(deployment) != nil {
		return isControlledBy(deployment, mc.UID)
	}
	return deployment.Spec.Selector != nil &&
		deployment.Spec.Selector.MatchLabels[cachev1alpha1.LabelMemcachedUID] == string(mc.UID)
}

// isPredecessors returns whether the Deployment belongs to an earlier Memcached of the same name.
func isPredecessors(deployment *appsv1.Deployment, mc *cachev1alpha1.Memcached) bool {
	controller := metav1.GetControllerOfNoCopy(deployment)
	return controller != nil && controller.UID != mc.UID && controller.Name == mc.Name && controller.Kind == "Memcached" &&
		strings.HasPrefix(controller.APIVersion, cachev1alpha1.GroupVersion.Group+"/")
}

// observe reads, from the cache, the pods of mc and the ReplicaSets that may own them. The rest of the snapshot is up to the caller:
// the Deployment, what became of it, and the hash of its template.
func (r *MemcachedReconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (snapshot, error) {
	ofMemcached := []client.ListOption{
		client.InNamespace(mc.Namespace),
		client.MatchingFields{memcachedUIDIndex: string(mc.UID)},
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
	return snapshot{
		memcached:        mc,
		replicaSets:      replicaSets.Items,
		pods:             pods.Items,
		previous:         r.lastWrites.lastStatus(mc),
		image:            r.Image,
		now:              time.Now(),
		progressDeadline: r.ProgressDeadline,
	}, nil
}

// ensureStatus writes the status of the snapshot's Memcached, unless a user would read nothing new in it. It returns how long the
// write is held back, if it is mere progress.
func (r *MemcachedReconciler) ensureStatus(ctx context.Context, s snapshot, status cachev1alpha1.MemcachedStatus) (heldBack time.Duration, err error) {
	if sameStatus(status, s.previous) {
		r.lastWrites.nothingHeldBack(s.memcached)
		return 0, nil
	}
	if isMereProgress(s.previous, status) && s.refused.reason == "" {
		if heldBack := r.lastWrites.holdBack(s.memcached, s.now, r.ProgressInterval); heldBack > 0 {
			return heldBack, nil
		}
	}
	status = withTransitionTimes(status, s.previous, metav1.NewTime(s.now))
	patch, err := statusPatch(s.memcached, status)
	if err != nil {
		return 0, err
	}
	written := s.memcached.DeepCopy()
	err = r.Status().Patch(ctx, written, patch, client.FieldOwner(cachev1alpha1.FieldManager))
	if apierrors.IsInvalid(err) {
		// Another UID, as a rule: created again under the same name.
		err = errors.Join(err, r.checkExists(ctx, s.memcached))
	}
	if apierrors.IsNotFound(err) || errors.Is(err, errGone) {
		// Nobody is left to read it.
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r.lastWrites.recordStatus(s.memcached, status, written.ResourceVersion)
	metrics.StatusWrites.Inc()
	if r.lastWrites.recordAvailability(s.memcached, s.previous, status) {
		metrics.TimeToAvailable.Observe(time.Since(s.memcached.CreationTimestamp.Time).Seconds())
	}
	announce(r.Recorder, s.memcached, s.previous, status)
	return 0, nil
}
