package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/10-webhooks/api/v1alpha1"
)

// cascade are those who delete what belongs to something else that somebody has deleted: the controllers that empty namespaces
// and collect garbage, by the names that they have where the controller manager gives each controller its own
// (--use-service-account-credentials), and where it does not.
var cascade = []string{
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:kube-controller-manager",
}

var protectionPath = field.NewPath("metadata", "annotations").Key(cachev1alpha1.AnnotationDeletionProtection)

// checkDeletion returns why the user can't delete a Memcached with these annotations, or nil.
//
// Protection is against a slip that concerns one Memcached. Who deletes a namespace or an owner means everything in it.
// Refusing would leave the namespace Terminating for ever, its Secrets and Services gone already, and save nobody.
func checkDeletion(annotations map[string]string, user string) *field.Error {
	if annotations[cachev1alpha1.AnnotationDeletionProtection] != "true" || slices.Contains(cascade, user) {
		return nil
	}
	return field.Forbidden(protectionPath, fmt.Sprintf(
		"it protects the Memcached from deletion: take it off first, with kubectl annotate memcached NAME %s-",
		cachev1alpha1.AnnotationDeletionProtection))
}

// checkProtection returns why the annotations can't become what they are after a change (or a creation, with none before),
// or nil. Somebody who writes "yes" or "True" would believe the Memcached protected.
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
