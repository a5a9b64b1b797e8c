package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// A restore from a backup creates objects again with other UIDs and without owner references. A Deployment then has no controller,
// and its selector, which is immutable, has the UID of a Memcached that no longer exists. The Memcached of its name adopts it and
// keeps the selector, so no pod is restarted. The same happens to a Deployment that "kubectl delete --cascade=orphan" has left
// behind, because nothing in the API tells the two apart.

// uidIndex finds a Memcached by its UID.
const uidIndex = "metadata.uid"

func uidOf(object client.Object) []string { return []string{string(object.GetUID())} }

// isAdoptable reports whether mc may adopt the Deployment, which was read from the API server, because the cache holds no managed
// fields. It has no controller, this operator created it for a Memcached of that name, and no other Memcached of the namespace
// selects its pods.
func (r *MemcachedReconciler) isAdoptable(ctx context.Context, live *appsv1.Deployment, mc *cachev1alpha1.Memcached) (bool, error) {
	uid := selectorUID(live)
	if uid == "" || metav1.GetControllerOfNoCopy(live) != nil || live.Spec.Template.Labels[labelInstance] != mc.Name ||
		!isCreatedBy(live, cachev1alpha1.FieldManager) {
		return false, nil
	}
	users := &cachev1alpha1.MemcachedList{}
	err := r.List(ctx, users, client.InNamespace(mc.Namespace), client.MatchingFields{uidIndex: string(uid)})
	return err == nil && len(users.Items) == 0, err
}

// isCreatedBy reports whether a field manager created the Deployment. It owns the selector, which can be set only on creation.
func isCreatedBy(deployment *appsv1.Deployment, manager string) bool {
	selector := fieldpath.MakePathOrDie("spec", "selector")
	return slices.ContainsFunc(deployment.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Manager != manager || entry.Subresource != "" || entry.FieldsV1 == nil {
			return false
		}
		fields := fieldpath.NewSet()
		return fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil && fields.Has(selector)
	})
}

// selectorUID returns the UID by which a Deployment selects its pods: that of the Memcached that it was created for. It is empty
// if the Deployment selects them by something else.
func selectorUID(deployment *appsv1.Deployment) types.UID {
	if deployment.Spec.Selector == nil {
		return ""
	}
	return types.UID(deployment.Spec.Selector.MatchLabels[cachev1alpha1.LabelMemcachedUID])
}

// keepSelector returns desired, the Deployment for mc, with the selector of the Deployment that exists.
func (r *MemcachedReconciler) keepSelector(desired *acappsv1.DeploymentApplyConfiguration, mc *cachev1alpha1.Memcached, uid types.UID) *acappsv1.DeploymentApplyConfiguration {
	if uid == "" || uid == mc.UID {
		return desired
	}
	return desiredDeploymentSelecting(uid, mc, r.Image, r.podOptions()...)
}

// belongsToPredecessor reports whether the Deployment belongs to an earlier Memcached of the same name.
func belongsToPredecessor(deployment *appsv1.Deployment, mc *cachev1alpha1.Memcached) bool {
	controller := metav1.GetControllerOfNoCopy(deployment)
	return controller != nil && controller.UID != mc.UID && controller.Name == mc.Name && controller.Kind == "Memcached" &&
		strings.HasPrefix(controller.APIVersion, cachev1alpha1.GroupVersion.Group+"/")
}

// errGone means that there is no longer a Memcached to keep a Deployment for.
var errGone = errors.New("the Memcached no longer exists")

// checkExists returns errGone if mc, which was read from the cache, no longer exists or is being deleted. Its Deployment is
// deleted with it, and the cache may show the Deployment's deletion first.
func (r *MemcachedReconciler) checkExists(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	live := &cachev1alpha1.Memcached{}
	err := r.APIReader.Get(ctx, nameOf(mc), live)
	if apierrors.IsNotFound(err) || err == nil && (live.UID != mc.UID || live.DeletionTimestamp != nil) {
		return errGone
	}
	return err
}
