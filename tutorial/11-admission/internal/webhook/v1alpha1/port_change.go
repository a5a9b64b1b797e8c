package v1alpha1

import (
	"fmt"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// warnOfRestart returns the warning for a change that replaces the pods of the Memcached, or "" for any other change.
func warnOfRestart(before, after *cachev1alpha1.Memcached) string {
	was, is := ptr.Deref(before.Spec.ContainerPort, cachev1alpha1.DefaultContainerPort), ptr.Deref(after.Spec.ContainerPort, cachev1alpha1.DefaultContainerPort)
	if was == is {
		return ""
	}
	return fmt.Sprintf("spec.containerPort changes from %d to %d: every pod of the Memcached %s restarts, and what it has cached is lost",
		was, is, after.Name)
}
