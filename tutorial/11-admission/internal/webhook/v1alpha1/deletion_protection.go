package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// cascade lists the users that delete objects because something else was deleted: the namespace controller and the garbage
// collector. The first two names apply where the controller manager gives each controller its own credentials
// (--use-service-account-credentials), the last one where it does not.
var cascade = []string{
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:kube-controller-manager",
}

var protectionPath = field.NewPath("metadata", "annotations").Key(cachev1alpha1.AnnotationDeletionProtection)

// checkDeletion returns why the user can't delete a Memcached with these annotations, or nil.
//
// Protection is for mistakes that concern one Memcached. Deleting a namespace or an owner deletes everything that belongs to it.
// Refusing that would leave the namespace Terminating indefinitely, with its Secrets and Services already gone, and protect
// nothing.
func checkDeletion(annotations map[string]string, user string) *field.Error {
	if annotations[cachev1alpha1.AnnotationDeletionProtection] != "true" || slices.Contains(cascade, user) {
		return nil
	}
	return field.Forbidden(protectionPath, fmt.Sprintf(
		"it protects the Memcached from deletion: take it off first, with kubectl annotate memcached NAME %s-",
		cachev1alpha1.AnnotationDeletionProtection))
}

// checkProtection returns why an update (or a creation, which has no annotations before) may not set the protection to its new
// value, or nil. It refuses values such as "yes" or "True", because whoever writes one would believe that the Memcached is
// protected.
func checkProtection(before, after map[string]string) *field.Error {
	value, ok := after[cachev1alpha1.AnnotationDeletionProtection]
	if was, had := before[cachev1alpha1.AnnotationDeletionProtection]; !ok || had && was == value {
		return nil
	}
	if value != "true" && value != "false" {
		return field.NotSupported(protectionPath, value, []string{"true", "false"})
	}
	return nil
}
