package embedded_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/loopback"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestComponents breaks one cluster in every way that its supervisor offers, step by step, beside another that must not notice.
func TestComponents(t *testing.T) {
	tier.All(t)
	other := sharedBed(t)
	// The first port that it tries is taken.
	var tries atomic.Int32
	b := ownBed(t, "components", embedded.WithPort(func() (int, error) {
		if tries.Add(1) == 1 {
			return takenPort(t), nil
		}
		return loopback.FreePort()
	}))
	if tries.Load() < 2 {
		t.Errorf("expected another port to be tried after a taken one, got %d tries", tries.Load())
	}
	namespace := b.namespace(t)

	b.expectIsolation(t, other)
	b.create(t, deployment(namespace, "before", 1))
	b.settles(t, namespace, "before")

	// Killed ones come back by themselves, and nothing is lost.
	address := b.cluster.KubernetesRestConfig().Host
	for _, component := range []string{embedded.KubeAPIServer, embedded.Etcd, embedded.KubeControllerManager, embedded.KubeScheduler, embedded.Kwok} {
		before := b.process(t, component)
		b.do(t, component, (*supervisor.Supervisor).Kill)
		name := "killed-" + component
		// Answered as soon as the API server and etcd are back.
		framework.WaitForObject(t.Context(), b.scope(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, Not(BeNil()))
		b.create(t, deployment(namespace, name, 1))
		b.settles(t, namespace, name)
		if after := b.process(t, component); after.Restarts != before.Restarts+1 || after.PID == before.PID || after.State != supervisor.Running {
			t.Errorf("expected %s to run again after one restart, before: %+v, after: %+v", component, before, after)
		}
	}
	attached, err := embedded.Attach("components")
	if err != nil {
		t.Fatal(err)
	}
	if got := attached.KubernetesRestConfig().Host; got != address {
		t.Errorf("expected kube-apiserver at %s as before, got %s", address, got)
	}
	b.settles(t, namespace, "before")

	// A stopped one stays so until it is started: without a scheduler no pod gets a node.
	b.do(t, embedded.KubeScheduler, (*supervisor.Supervisor).Stop)
	if p := b.process(t, embedded.KubeScheduler); p.State != supervisor.Stopped {
		t.Errorf("expected the scheduler to be stopped, got %+v", p)
	}
	unscheduled := deployment(namespace, "unscheduled", 1)
	b.create(t, unscheduled)
	pod := b.podThat(t, unscheduled, Not(BeNil()))
	if pod.Spec.NodeName != "" {
		t.Errorf("expected no node without a scheduler, got %s", pod.Spec.NodeName)
	}
	b.do(t, embedded.KubeScheduler, (*supervisor.Supervisor).StartAgain)
	b.settles(t, namespace, "unscheduled")

	restarts := b.process(t, embedded.KubeControllerManager).Restarts
	b.do(t, embedded.KubeControllerManager, (*supervisor.Supervisor).Restart)
	if p := b.process(t, embedded.KubeControllerManager); p.State != supervisor.Running || p.Restarts != restarts+1 {
		t.Errorf("expected one more restart than %d, got %+v", restarts, p)
	}

	// A paused one answers nothing, and goes on as if nothing had been.
	paused := b.process(t, embedded.KubeAPIServer)
	b.do(t, embedded.KubeAPIServer, (*supervisor.Supervisor).Pause)
	if p := b.process(t, embedded.KubeAPIServer); p.State != supervisor.Paused {
		t.Errorf("expected kube-apiserver to be paused, got %+v", p)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // however long: there is no answer
	defer cancel()
	if err := b.List(short, &corev1.NodeList{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("expected no answer from a paused kube-apiserver, got %v", err)
	}
	b.do(t, embedded.KubeAPIServer, (*supervisor.Supervisor).Resume)
	b.create(t, deployment(namespace, "resumed", 1))
	b.settles(t, namespace, "resumed")
	if p := b.process(t, embedded.KubeAPIServer); p.PID != paused.PID || p.State != supervisor.Running {
		t.Errorf("expected the same kube-apiserver as before the pause, before: %+v, after: %+v", paused, p)
	}

	if err := b.cluster.Supervisor().Kill(t.Context(), "kube-proxy"); err == nil || !strings.Contains(err.Error(), `there is no process called "kube-proxy"`) {
		t.Errorf("expected a sentence about what is not there, got %v", err)
	}
	for _, component := range []string{embedded.Etcd, embedded.KubeAPIServer, embedded.KubeControllerManager} {
		if p := other.process(t, component); p.Exit != nil && p.State != supervisor.Running {
			t.Errorf("expected the other cluster's %s to run, got %+v", component, p)
		}
	}
}

func TestCompactNoCluster(t *testing.T) {
	t.Parallel()
	if err := embedded.NewProvider().Compact(t.Context()); !errors.As(err, new(*embedded.NotUpError)) {
		t.Errorf("expected a *NotUpError, got %v", err)
	}
}

// expectIsolation checks that what one cluster holds the other doesn't know, and that neither trusts the other's users.
func (b *bed) expectIsolation(t *testing.T, other *bed) {
	t.Helper()
	namespace := b.namespace(t)
	if err := other.Get(t.Context(), types.NamespacedName{Name: namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("expected the namespace %s in one cluster only, got %v", namespace, err)
	}
	mixed := b.cluster.KubernetesRestConfig()
	mixed.Host = other.cluster.KubernetesRestConfig().Host
	c, err := client.New(mixed, client.Options{Scheme: scheme()})
	if err == nil {
		err = c.List(t.Context(), &corev1.NodeList{})
	}
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("expected one cluster not to trust the other, got %v", err)
	}
}

// settles waits until the Deployment of one is Available.
func (b *bed) settles(t *testing.T, namespace, name string) {
	t.Helper()
	framework.WaitForDeployment(t.Context(), b.scope(t), types.NamespacedName{Namespace: namespace, Name: name}, 1)
}

func (b *bed) do(t *testing.T, component string, act func(*supervisor.Supervisor, context.Context, string) error) {
	t.Helper()
	if err := act(b.cluster.Supervisor(), t.Context(), component); err != nil {
		t.Fatal(err)
	}
}
