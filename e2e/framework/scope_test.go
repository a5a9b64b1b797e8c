package framework

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

// A pod that is created before its namespace's ServiceAccount is refused, with a warning that only a busy machine shows.
func TestNamespaceIsReadyForPods(t *testing.T) {
	var account client.Object
	c := newClient(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, namespace client.Object, opts ...client.CreateOption) error {
		go func() { // as kube-controller-manager does
			time.Sleep(time.Second)
			account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.GetName(), Name: "default"}}
			if err := c.Create(ctx, account); err != nil {
				t.Error(err)
			}
		}()
		return c.Create(ctx, namespace, opts...)
	}})
	t.Run("feature", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			namespace, err := (&Suite{options: Options{Name: "demo"}, client: c}).createNamespace(t.Context(), t)
			if err != nil {
				t.Fatal(err)
			}
			if account == nil || account.GetNamespace() != namespace {
				t.Errorf("expected to wait for the ServiceAccount of %s; last seen: %v", namespace, account)
			}
		})
	})
	left := &corev1.NamespaceList{}
	if err := c.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("expected no namespace to be left; last seen: %v (%v)", left.Items, err)
	}
}
