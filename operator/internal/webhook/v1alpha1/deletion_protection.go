package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// namespaceController is who empties a namespace that is being deleted.
const namespaceController = "system:serviceaccount:kube-system:namespace-controller"

var protectionPath = field.NewPath("metadata", "annotations").Key(cachev1alpha1.AnnotationDeletionProtection)

// checkDeletion returns why the user can't delete a Memcached with these annotations, or nil.
//
// Protection is against a slip that concerns one Memcached. Who deletes a namespace means everything in it, and has been
// asked by nobody else either: refusing would leave the namespace Terminating for ever, with its Secrets and Services gone
// already, and the Memcached without any use.
func checkDeletion(annotations map[string]string, user string) *field.Error {
	if annotations[cachev1alpha1.AnnotationDeletionProtection] != "true" || user == namespaceController {
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
