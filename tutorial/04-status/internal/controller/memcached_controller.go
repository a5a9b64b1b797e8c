// Package controller holds the controller of the Memcacheds.
package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

const (
	// fieldManager is the name under which the API server records the operator's fields.
	fieldManager = client.FieldOwner("memcached-operator")

	// recheckInterval is how long to wait before checking pods again, because this controller does not watch pods.
	recheckInterval = 2 * time.Second
)

// MemcachedReconciler keeps a Deployment of memcached for each Memcached, and the Memcached's status up to date.
type MemcachedReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Recorder records events.
	Recorder events.EventRecorder

	// Image is the image of memcached.
	Image string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile applies the Deployment of one Memcached, and updates its status.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		// It was deleted, and the garbage collector deletes what it owned.
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	deployment, refusal := r.applyDeployment(ctx, mc)
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, client.InNamespace(mc.Namespace), client.MatchingLabels(podLabels(mc))); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeStatus(ctx, mc, computeStatus(mc, deployment, pods.Items, refusal)); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case refusal != nil:
		return ctrl.Result{}, refusal
	case !isTrue(mc.Status.Conditions, cachev1alpha1.ConditionAvailable):
		return ctrl.Result{RequeueAfter: recheckInterval}, nil
	default:
		return ctrl.Result{}, nil
	}
}

// applyDeployment applies the desired Deployment of mc, and returns it as the API server stored it.
func (r *MemcachedReconciler) applyDeployment(ctx context.Context, mc *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	deployment := desiredDeployment(mc, r.Image)
	if err := r.Apply(ctx, deployment, fieldManager, client.ForceOwnership); err != nil {
		return nil, err
	}
	// Apply has replaced the content of deployment with the API server's response, which is newer than any cache.
	return toDeployment(deployment)
}

// SetupWithManager makes the manager call Reconcile for a Memcached whenever it, or a Deployment that it owns, changes.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
