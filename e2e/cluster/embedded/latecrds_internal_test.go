package embedded

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestLearn(t *testing.T) {
	t.Parallel()
	crd := func(uid types.UID, status apiextensionsv1.ConditionStatus) *apiextensionsv1.CustomResourceDefinition {
		c := &apiextensionsv1.CustomResourceDefinition{}
		c.UID = uid
		c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: status}}
		return c
	}
	known := establishedCRDs{}
	for _, step := range []struct {
		what string
		crd  *apiextensionsv1.CustomResourceDefinition
		want bool
	}{
		{"not Established yet", crd("1", apiextensionsv1.ConditionFalse), false},
		{"Established", crd("1", apiextensionsv1.ConditionTrue), true},
		{"the same again", crd("1", apiextensionsv1.ConditionTrue), false},
		{"deleted and created again", crd("2", apiextensionsv1.ConditionTrue), true},
	} {
		if got := known.learn(step.crd); got != step.want {
			t.Errorf("%s: expected %v, got %v", step.what, step.want, got)
		}
	}
}
