// Package controller holds the controller of the Memcacheds.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/03-controller/api/v1alpha1"
)

// fieldManager is the name that the API server records as the manager of the fields that the operator sets.
const fieldManager = client.FieldOwner("memcached-operator")

// MemcachedReconciler keeps a Deployment of memcached for each Memcached.
type MemcachedReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Image is the image of memcached.
	Image string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete

// Reconcile applies the Deployment of one Memcached.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		// It was deleted, and the garbage collector deletes what it owned.
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Apply(ctx, desiredDeployment(mc, r.Image), fieldManager, client.ForceOwnership)
}

// SetupWithManager makes the manager call Reconcile for a Memcached whenever it, or a Deployment that it owns, changes.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
