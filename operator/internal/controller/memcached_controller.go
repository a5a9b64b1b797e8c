package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
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

	// Recorder takes the events. SetupWithManager sets it to the manager's, unless it is set already.
	Recorder events.EventRecorder

	memory memory
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

// Reconcile makes the Deployment of one Memcached as it should be, and its status say what is. What it waits for, it
// watches, as a rule. It asks to be called again only where nobody tells: when it waits for a stranger's Deployment to go, and
// when the pods have to be ready.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		// What the Memcached owns is garbage collected after it.
		return ctrl.Result{}, nil
	}

	setDefaults(&mc.Spec)
	desired := desiredDeployment(mc, r.Image)
	state, err := r.ensureDeployment(ctx, mc, desired)
	if errors.Is(err, errGone) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// The Memcached goes with its namespace.
		return ctrl.Result{}, nil
	}
	refused := refusalOf(err)
	if err != nil && refused.reason == "" {
		return ctrl.Result{}, err
	}
	snapshot := snapshot{
		memcached:    mc,
		deployment:   state,
		refused:      refused,
		previous:     r.memory.lastStatus(mc),
		templateHash: templateHash(desired),
		image:        r.Image,

		progressDeadline: r.ProgressDeadline,
	}
	if err := r.readPods(ctx, &snapshot); err != nil {
		return ctrl.Result{}, err
	}
	status, settled := computeStatus(snapshot)
	if settled {
		if err := r.ensureStatus(ctx, snapshot, status); err != nil {
			return ctrl.Result{}, err
		}
	}
	isProgressing := !settled || meta.IsStatusConditionTrue(status.Conditions, cachev1alpha1.ConditionProgressing)
	return r.next(snapshot, isProgressing, err)
}

// next says when the Memcached is looked at again if nothing changes that is watched, given what came of its Deployment.
// Only another spec mends an invalid one. What somebody else refuses is tried again, whatever they call it: nobody tells when a
// webhook, a policy or a quota is no longer in the way. Nor does anybody tell when the pods have had enough time.
func (r *MemcachedReconciler) next(s snapshot, isProgressing bool, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errNameTaken), err == nil && s.deployment.uid == "":
		return ctrl.Result{RequeueAfter: r.RecheckInterval}, nil
	case errors.Is(err, errInvalidSpec):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case err == nil && isProgressing:
		return ctrl.Result{RequeueAfter: s.untilOverdue()}, nil
	}
	return ctrl.Result{}, err
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
		paths, err := drift(desired, cached)
		if err != nil {
			return known, err
		}
		if isOurs(cached, mc) && (len(paths) == 0 || cached.DeletionTimestamp != nil) {
			return known, nil
		}
	// Where there is a status there was an operator at work, so a Deployment that is not in the cache was made and is gone,
	// or could not be made: the live objects tell.
	case !r.memory.hasCreated(mc) && len(mc.Status.Conditions) == 0:
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
	paths, err := drift(desired, live)
	if err != nil || len(paths) == 0 {
		return stateOf(live), err
	}
	logf.FromContext(ctx).Info("Applying the Deployment", "differences", paths)
	state, err := r.applyDeployment(ctx, live, desired)
	if err != nil {
		return stateOf(live), err
	}
	return state, nil
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
	deployment, err := toDeployment(desired)
	if err != nil {
		return deploymentState{}, err
	}
	if err := r.Create(ctx, deployment, client.FieldOwner(cachev1alpha1.FieldManager)); err != nil {
		return deploymentState{}, err
	}
	metrics.DeploymentWrites.WithLabelValues(metrics.OperationCreate).Inc()
	r.memory.noteCreated(mc)
	return stateOf(deployment), nil
}

// applyDeployment makes live as desired: every field that desired sets gets its value, every field that the operator set
// before and desired does not set goes away, all others stay.
func (r *MemcachedReconciler) applyDeployment(ctx context.Context, live *appsv1.Deployment, desired *acappsv1.DeploymentApplyConfiguration) (deploymentState, error) {
	patch, err := takeOver(live.ManagedFields)
	if err != nil {
		return deploymentState{}, err
	}
	if patch != nil {
		err := r.Patch(ctx, live.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(cachev1alpha1.FieldManager))
		if apierrors.IsInvalid(err) {
			return deploymentState{}, fmt.Errorf("%w: %w", errOwnershipMoved, err)
		}
		if err != nil {
			return deploymentState{}, err
		}
		metrics.DeploymentWrites.WithLabelValues(metrics.OperationTakeOver).Inc()
	}
	// With the UID, an apply that comes after a deletion does not create the Deployment anew.
	desired.WithUID(live.UID)
	if err := r.Apply(ctx, desired, client.FieldOwner(cachev1alpha1.FieldManager), client.ForceOwnership); err != nil {
		return deploymentState{}, err
	}
	metrics.DeploymentWrites.WithLabelValues(metrics.OperationApply).Inc()
	// Apply has put the API server's answer into desired.
	answer, err := toDeployment(desired)
	if err != nil {
		return deploymentState{}, err
	}
	return stateOf(answer), nil
}

// errGone is what ensureDeployment returns when there is no Memcached to keep a Deployment for.
var errGone = errors.New("the Memcached is gone")

// errOwnershipMoved is what applyDeployment returns when the owners of the Deployment's fields are not as it read them: a
// new reading is due.
var errOwnershipMoved = errors.New("taking over the fields of the Deployment")

func isOwnershipMoved(err error) bool { return errors.Is(err, errOwnershipMoved) }

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

// readPods reads the pods of the snapshot's Memcached, and the ReplicaSets that may own them, from the cache.
func (r *MemcachedReconciler) readPods(ctx context.Context, s *snapshot) error {
	ofMemcached := []client.ListOption{
		client.InNamespace(s.memcached.Namespace),
		client.MatchingFields{memcachedUIDIndex: string(s.memcached.UID)},
	}
	replicaSets := &metav1.PartialObjectMetadataList{}
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := r.List(ctx, replicaSets, ofMemcached...); err != nil {
		return err
	}
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, ofMemcached...); err != nil {
		return err
	}
	s.replicaSets, s.pods, s.now = replicaSets.Items, pods.Items, time.Now()
	return nil
}

// ensureStatus writes the status of the snapshot's Memcached, unless a user would read nothing new in it.
func (r *MemcachedReconciler) ensureStatus(ctx context.Context, s snapshot, status cachev1alpha1.MemcachedStatus) error {
	if sameStatus(status, s.previous) {
		return nil
	}
	status = withTransitionTimes(status, s.previous, metav1.NewTime(s.now))
	patch, err := statusPatch(s.memcached, status)
	if err != nil {
		return err
	}
	written := s.memcached.DeepCopy()
	err = r.Status().Patch(ctx, written, patch, client.FieldOwner(cachev1alpha1.FieldManager))
	if apierrors.IsInvalid(err) {
		// Another UID, as a rule: created again under the same name.
		err = errors.Join(err, r.checkExists(ctx, s.memcached))
	}
	if apierrors.IsNotFound(err) || errors.Is(err, errGone) {
		// Nobody is left to read it.
		return nil
	}
	if err != nil {
		return err
	}
	r.memory.noteStatus(s.memcached, status, written.ResourceVersion)
	metrics.StatusWrites.Inc()
	if r.memory.noteAvailability(s.memcached, s.previous, status) {
		metrics.TimeToAvailable.Observe(time.Since(s.memcached.CreationTimestamp.Time).Seconds())
	}
	announce(r.Recorder, s.memcached, s.previous, status)
	return nil
}
