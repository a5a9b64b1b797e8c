package embedded

import (
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhenQuiet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		gaps  []time.Duration // before each change
		calls int
	}{
		{name: "no change", calls: 0},
		{name: "one change", gaps: []time.Duration{0}, calls: 1},
		{name: "a group", gaps: []time.Duration{0, 0, quiet / 2, quiet - time.Millisecond}, calls: 1},
		{name: "two groups", gaps: []time.Duration{0, quiet / 2, time.Minute, quiet / 2}, calls: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				changes := make(chan struct{})
				calls := 0
				go whenQuiet(t.Context(), changes, func() { calls++ })
				for _, gap := range test.gaps {
					<-time.After(gap)
					changes <- struct{}{}
				}
				<-time.After(time.Hour)
				synctest.Wait()
				if calls != test.calls {
					t.Errorf("expected %d calls, got %d", test.calls, calls)
				}
			})
		})
	}
}

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
