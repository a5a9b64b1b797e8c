package v1alpha1

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

func TestWarnOfRestart(t *testing.T) {
	port := func(port int32) *cachev1alpha1.Memcached {
		return &cachev1alpha1.Memcached{Spec: cachev1alpha1.MemcachedSpec{ContainerPort: &port}}
	}
	for _, test := range []struct {
		name          string
		before, after *cachev1alpha1.Memcached
		want          string // "" if there is no warning
	}{
		{"unchanged", port(11211), port(11211), ""},
		{"changed", port(11211), port(11212), "from 11211 to 11212"},
		{"unset to the default", &cachev1alpha1.Memcached{}, port(11211), ""},
		{"unset to another", &cachev1alpha1.Memcached{}, port(1), "from 11211 to 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := warnOfRestart(test.before, test.after); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
