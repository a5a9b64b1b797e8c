package v1alpha1

import (
	"maps"
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

const requestedBy = cachev1alpha1.AnnotationRequestedBy

func TestRecordCreator(t *testing.T) {
	for _, test := range []struct {
		name              string
		annotations, want map[string]string
	}{
		{"no annotations", nil, map[string]string{requestedBy: "jane"}},
		{"others stay", map[string]string{"a": "b"}, map[string]string{"a": "b", requestedBy: "jane"}},
		{"a forged name", map[string]string{requestedBy: "joe"}, map[string]string{requestedBy: "jane"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := recordCreator(test.annotations, "jane"); !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestKeepCreator(t *testing.T) {
	for _, test := range []struct {
		name                string
		before, after, want map[string]string
	}{
		{"nothing there", nil, nil, nil},
		{"unchanged", map[string]string{requestedBy: "jane"}, map[string]string{requestedBy: "jane", "a": "b"}, map[string]string{requestedBy: "jane", "a": "b"}},
		{"another name", map[string]string{requestedBy: "jane"}, map[string]string{requestedBy: "joe"}, map[string]string{requestedBy: "jane"}},
		{"an empty name", map[string]string{requestedBy: "jane"}, map[string]string{requestedBy: ""}, map[string]string{requestedBy: "jane"}},
		{"removed", map[string]string{requestedBy: "jane"}, map[string]string{"a": "b"}, map[string]string{requestedBy: "jane", "a": "b"}},
		{"all removed", map[string]string{requestedBy: "jane"}, nil, map[string]string{requestedBy: "jane"}},
		{"added later", map[string]string{"a": "b"}, map[string]string{"a": "b", requestedBy: "joe"}, map[string]string{"a": "b"}},
		{"added empty", nil, map[string]string{requestedBy: ""}, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := keepCreator(test.before, test.after); !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
