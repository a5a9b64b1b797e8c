// Package controller holds the controller of the Memcacheds.
package controller

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

// fieldManager is the name that the API server records as the manager of the fields that the operator sets.
const fieldManager = client.FieldOwner("memcached-operator")

// MemcachedReconciler keeps a Deployment of memcached for each Memcached, and the Memcached's status up to date.
type MemcachedReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Recorder records events.
	Recorder events.EventRecorder

	// Image is the image of memcached.
	Image string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile applies the Deployment of one Memcached, and updates its status. It never requeues, because the controller watches
// everything that it waits for.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1beta1.Memcached{}
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
	status := computeStatus(mc, deployment, pods.Items, refusal)
	return ctrl.Result{}, errors.Join(r.writeStatus(ctx, mc, status), refusal)
}

// applyDeployment applies the desired Deployment of mc, and returns it as the API server stored it.
func (r *MemcachedReconciler) applyDeployment(ctx context.Context, mc *cachev1beta1.Memcached) (*appsv1.Deployment, error) {
	deployment := desiredDeployment(mc, r.Image)
	if err := r.Apply(ctx, deployment, fieldManager, client.ForceOwnership); err != nil {
		return nil, err
	}
	// Apply has replaced the content of deployment with the API server's response, which is newer than any cache.
	return toDeployment(deployment)
}
