package v1alpha1

import (
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

const protection = cachev1alpha1.AnnotationDeletionProtection

func TestCheckDeletion(t *testing.T) {
	for _, test := range []struct {
		name        string
		annotations map[string]string
		user        string
		refused     bool
	}{
		{"not protected", nil, "jane", false},
		{"protected", map[string]string{protection: "true"}, "jane", true},
		{"protected from an administrator too", map[string]string{protection: "true"}, "system:admin", true},
		{"its owner goes", map[string]string{protection: "true"}, "system:serviceaccount:kube-system:generic-garbage-collector", false},
		{"its namespace or owner goes, where controllers have no names of their own", map[string]string{protection: "true"}, "system:kube-controller-manager", false},
		{"its namespace goes", map[string]string{protection: "true"}, "system:serviceaccount:kube-system:namespace-controller", false},
		{"a namesake of the namespace controller", map[string]string{protection: "true"}, "system:serviceaccount:jane:namespace-controller", true},
		{"turned off", map[string]string{protection: "false"}, "jane", false},
		{"another annotation", map[string]string{"deletion-protection": "true"}, "jane", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checkDeletion(test.annotations, test.user); (got != nil) != test.refused {
				t.Errorf("got %v, want refused: %v", got, test.refused)
			}
		})
	}
}

func TestCheckProtection(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after map[string]string
		refused       bool
	}{
		{"none", nil, nil, false},
		{"on", nil, map[string]string{protection: "true"}, false},
		{"off", map[string]string{protection: "true"}, map[string]string{protection: "false"}, false},
		{"taken off", map[string]string{protection: "true"}, nil, false},
		{"yes", nil, map[string]string{protection: "yes"}, true},
		{"True", map[string]string{protection: "true"}, map[string]string{protection: "True"}, true},
		{"empty", nil, map[string]string{protection: ""}, true},
		{"wrong since before the webhooks were on", map[string]string{protection: "yes"}, map[string]string{protection: "yes"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checkProtection(test.before, test.after); (got != nil) != test.refused {
				t.Errorf("got %v, want refused: %v", got, test.refused)
			}
		})
	}
}
