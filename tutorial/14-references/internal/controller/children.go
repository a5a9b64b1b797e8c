package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// failure is an error with the reason that the condition Degraded gives for it.
type failure struct {
	reason string
	error
}

// Unwrap returns the error without its reason.
func (f failure) Unwrap() error { return f.error }

// reasonOf returns the reason of an error for the condition Degraded.
func reasonOf(err error) string {
	if found, ok := errors.AsType[failure](err); ok {
		return found.reason
	}
	return cachev1alpha1.ReasonDeploymentRefused
}

// applyChildren makes what mc owns as it should be, and returns the Deployment as it is then. It first writes what others refer to, and
// at the end removes what is no longer wanted. A child that fails stops only what needs it.
func (r *MemcachedReconciler) applyChildren(ctx context.Context, mc *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	failed := r.apply(ctx, mc, "Service", mc.Name, desiredService(mc))
	if name := mc.Spec.ClientConfigMapName; name != "" && failed == nil {
		failed = r.apply(ctx, mc, "ConfigMap", name, desiredConfigMap(mc))
	}
	deployment, err := r.applyDeployment(ctx, mc)
	if failed = errors.Join(failed, err); failed == nil {
		failed = r.prune(ctx, mc)
	}
	return deployment, failed
}

// apply makes a Service or ConfigMap of mc as desired.
func (r *MemcachedReconciler) apply(ctx context.Context, mc *cachev1alpha1.Memcached, kind, name string, desired runtime.ApplyConfiguration) error {
	existing := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: name}}
	existing.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if err := r.claim(ctx, mc, existing); err != nil {
		return err
	}
	if err := r.Apply(ctx, desired, fieldManager, client.ForceOwnership); err != nil {
		return failure{cachev1alpha1.ReasonChildRefused, err}
	}
	return nil
}

// applyDeployment makes the Deployment of mc as desired, and returns it as it is then. If that fails, the one that exists stays as it is.
func (r *MemcachedReconciler) applyDeployment(ctx context.Context, mc *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	existing := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
	if err := r.claim(ctx, mc, existing); err != nil {
		return &appsv1.Deployment{}, err
	}
	usersHash, err := r.usersHash(ctx, mc)
	if err != nil {
		return existing, err
	}
	desired := desiredDeployment(mc, r.Image, usersHash)
	if err := r.Apply(ctx, desired, fieldManager, client.ForceOwnership); err != nil {
		return existing, err
	}
	// Apply has replaced the content of deployment with the API server's response, which is newer than any cache.
	return toDeployment(desired)
}

// claim reads the object of obj's type, namespace and name, and fails if it exists and is foreign. An object is mc's if mc controls it. One
// without a controller is mc's if it carries mc's label: applying it adopts it.
func (r *MemcachedReconciler) claim(ctx context.Context, mc *cachev1alpha1.Memcached, obj client.Object) error {
	if err := r.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return client.IgnoreNotFound(err)
	}
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller != nil && controller.UID == mc.UID {
		return nil
	}
	if controller == nil && obj.GetLabels()[labelMemcachedUID] == string(mc.UID) {
		return nil
	}
	kind, err := r.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	return failure{cachev1alpha1.ReasonNameTaken, fmt.Errorf("the %s %q exists already, and is not this Memcached's", kind.Kind, obj.GetName())}
}

// prune deletes the Services and ConfigMaps that mc controls and no longer wants.
func (r *MemcachedReconciler) prune(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	wanted := map[string]string{"Service": mc.Name, "ConfigMap": mc.Spec.ClientConfigMapName}
	for kind, name := range wanted {
		children := &metav1.PartialObjectMetadataList{}
		children.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := r.List(ctx, children, client.InNamespace(mc.Namespace)); err != nil {
			return err
		}
		for i := range children.Items {
			child := &children.Items[i]
			if child.Name == name || !metav1.IsControlledBy(child, mc) || !child.DeletionTimestamp.IsZero() {
				continue
			}
			// If it has changed since the cache saw it, it may not be ours any more. The change calls Reconcile again.
			asSeen := client.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion}
			err := r.Delete(ctx, child, asSeen)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return failure{cachev1alpha1.ReasonChildRefused, err}
			}
		}
	}
	return nil
}
