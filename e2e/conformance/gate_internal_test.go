package conformance

import (
	"slices"
	"testing"
)

func TestCounted(t *testing.T) {
	got := counted([]string{"pods is forbidden", "services is forbidden", "pods is forbidden", "EOF", "pods is forbidden"})
	if want := []string{"pods is forbidden (3 times)", "services is forbidden", "EOF"}; !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
}

// Both messages are those of k8s.io/kubernetes/plugin/pkg/admission/gc.
func TestOnlyAPermissionIsMissing(t *testing.T) {
	for line, want := range map[string]bool{
		`deployments.apps "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , `:                                                                  true,
		`deployments.apps "a" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind One: no matches for kind "One" in version "example.com/v1"`: false,
		`deployments.apps "a" is forbidden: User "b" cannot create resource "deployments" in API group "apps"`:                                                                                                        false,
	} {
		if got := isAboutOwnerPermission(line); got != want {
			t.Errorf("%s: expected %v, got %v", line, want, got)
		}
	}
}
