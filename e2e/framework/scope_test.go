package framework

import (
	"context"
	"slices"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
)

// A component that a test has paused would hold up all that run after it.
func TestControlResumesWhatItHasPaused(t *testing.T) {
	var acts []string
	can := cluster.Capabilities{Control: func(_ context.Context, component string, action cluster.Action) error {
		acts = append(acts, string(action)+" "+component)
		return nil
	}}
	t.Run("feature", func(t *testing.T) {
		s := &Scope{T: t, Cluster: can}
		s.Control(t.Context(), cluster.Etcd, cluster.Restart)
		s.Control(t.Context(), cluster.KubeAPIServer, cluster.Pause)
	})
	if want := []string{"restart etcd", "pause kube-apiserver", "resume kube-apiserver"}; !slices.Equal(acts, want) {
		t.Errorf("expected %q, got %q", want, acts)
	}
}
