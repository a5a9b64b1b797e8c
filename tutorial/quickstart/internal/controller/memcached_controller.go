// Package controller holds the controller of the Memcacheds.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/quickstart/api/v1alpha1"
)

// fieldManager is the name that the API server records as the manager of the fields that the operator sets.
const fieldManager = client.FieldOwner("memcached-operator")

// MemcachedReconciler keeps a Deployment of memcached for each Memcached, and reports its state in the Memcached's status.
type MemcachedReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Image is the image of memcached.
	Image string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete

// Reconcile applies the Deployment of one Memcached, and reports its state.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil || !mc.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := desiredDeployment(mc, r.Image)
	if err := r.Apply(ctx, deployment, fieldManager, client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.writeStatus(ctx, mc, computeStatus(mc, readyReplicas(deployment)))
}

// writeStatus writes the status of mc, unless mc has it already.
func (r *MemcachedReconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) error {
	if equality.Semantic.DeepEqual(mc.Status, status) {
		return nil
	}
	before := mc.DeepCopy()
	mc.Status = status
	return client.IgnoreNotFound(r.Status().Patch(ctx, mc, client.MergeFrom(before)))
}

// SetupWithManager makes the manager call Reconcile for a Memcached whenever it, or its Deployment, changes.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
