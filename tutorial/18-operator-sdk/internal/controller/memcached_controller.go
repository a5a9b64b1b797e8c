// Package controller holds the controller of the Memcacheds: what the plugin deploy-image generated, completed.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
)

// finalizer keeps a Memcached that is being deleted until finalize has removed it.
const finalizer = "cache.example.com/finalizer"

// MemcachedReconciler keeps a Deployment of memcached for each Memcached, and reports in its status whether the pods are ready.
type MemcachedReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Scheme knows the kind of each Go type, for owner references.
	Scheme *runtime.Scheme

	// Recorder records events.
	Recorder events.EventRecorder

	// Image is the image of memcached.
	Image string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=update
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update

// Reconcile creates or corrects the Deployment of one Memcached, and reports its state.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, mc); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mc.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, mc)
	}
	if controllerutil.AddFinalizer(mc, finalizer) {
		if err := r.Update(ctx, mc); err != nil {
			return ctrl.Result{}, err
		}
	}
	deployment, err := r.reconcileDeployment(ctx, mc)
	if err != nil {
		return ctrl.Result{}, err
	}
	if meta.SetStatusCondition(&mc.Status.Conditions, availableCondition(mc, deployment)) {
		err = r.Status().Update(ctx, mc)
	}
	return ctrl.Result{}, err
}

// reconcileDeployment creates the Deployment of mc, or corrects its number of replicas. It returns the Deployment as it is then.
func (r *MemcachedReconciler) reconcileDeployment(ctx context.Context, mc *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(mc), deployment)
	if apierrors.IsNotFound(err) {
		if deployment, err = r.deploymentFor(mc); err != nil {
			return nil, err
		}
		return deployment, r.Create(ctx, deployment)
	}
	if err != nil {
		return nil, err
	}
	if *deployment.Spec.Replicas != *mc.Spec.Size {
		deployment.Spec.Replicas = mc.Spec.Size
		err = r.Update(ctx, deployment)
	}
	return deployment, err
}

// finalize is the place for what has to be done before mc goes. There is nothing to do outside the cluster here, so it only records an
// event. Kubernetes deletes the Deployment, because mc owns it.
func (r *MemcachedReconciler) finalize(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	if !controllerutil.RemoveFinalizer(mc, finalizer) {
		return nil
	}
	r.Recorder.Eventf(mc, nil, corev1.EventTypeNormal, "Deleting", "Finalize", "The Memcached is being deleted.")
	return client.IgnoreNotFound(r.Update(ctx, mc))
}

// SetupWithManager makes the manager call Reconcile for a Memcached whenever it, or its Deployment, changes.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
