package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestWithTheFramework takes a cluster up and down as users of e2e-framework do.
func TestWithTheFramework(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	const name = "framework"
	cfg := envconf.New()
	p := embedded.NewProvider()
	ctx, err := envfuncs.CreateClusterWithOpts(p, name, embedded.Detached(), embedded.WithNodes(1))(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if cfg.KubeconfigFile() != p.GetKubeconfig() {
		t.Errorf("expected the framework to use %s, it uses %s", p.GetKubeconfig(), cfg.KubeconfigFile())
	}
	if err := cfg.Client().Resources("default").Create(ctx, deployment("default", "one", 1)); err != nil {
		t.Errorf("expected the framework's client to work: %v", err)
	}
	if _, err := envfuncs.LoadImageToCluster(name, "memcached:1.6")(ctx, cfg); err == nil || !strings.Contains(err.Error(), "use a kind cluster (CLUSTER=kind)") {
		t.Errorf("expected images to be refused with the way out, got %v", err)
	}
	logs := t.TempDir()
	if _, err := envfuncs.ExportClusterLogs(name, logs)(ctx, cfg); err != nil {
		t.Error(err)
	}
	for _, file := range []string{"audit.log", "etcd.log", "kube-apiserver.log", "supervisor.log"} {
		if _, err := os.Stat(filepath.Join(logs, file)); err != nil {
			t.Error(err)
		}
	}

	// Others find it while it is up.
	attached, err := embedded.Attach(name)
	if err != nil {
		t.Fatal(err)
	}
	if attached.GetKubeconfig() != p.GetKubeconfig() || attached.KubernetesRestConfig() == nil || attached.Supervisor().PID() != p.Supervisor().PID() {
		t.Errorf("expected to find the cluster of %s, found %s", p.GetKubeconfig(), attached.GetKubeconfig())
	}
	if found, ok := listed(t, name); !ok || !found.Detached || found.Kubeconfig != p.GetKubeconfig() {
		t.Errorf("expected it in the list as detached, got %+v", found)
	}

	if _, err := envfuncs.DestroyCluster(name)(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	expectNothingLeft(t, name)
	if p.Supervisor() != nil || p.KubernetesRestConfig() != nil {
		t.Error("expected neither a supervisor nor access after the end")
	}
	for _, provider := range []*embedded.Provider{p, attached} {
		if err := provider.Destroy(ctx); err != nil {
			t.Errorf("expected a second Destroy to find nothing to do, got %v", err)
		}
	}
	down := new(embedded.NotUpError)
	if _, err := embedded.Attach(name); !errors.As(err, &down) || down.Name != name {
		t.Errorf("expected a *NotUpError for %s, got %v", name, err)
	}
	if found, ok := listed(t, name); ok {
		t.Errorf("expected it not to be in the list, got %+v", found)
	}
}

func TestSameNameTwice(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	_, err := embedded.NewProvider().WithName(sharedName).Create(t.Context())
	taken := new(embedded.AlreadyUpError)
	if !errors.As(err, &taken) || taken.Name != sharedName || taken.Kubeconfig != b.cluster.GetKubeconfig() {
		t.Errorf("expected an *AlreadyUpError with the kubeconfig %s, got %v", b.cluster.GetKubeconfig(), err)
	}
	if found, ok := listed(t, sharedName); !ok || found.Detached || found.Kubeconfig != b.cluster.GetKubeconfig() {
		t.Errorf("expected the first one in the list, attached, got %+v", found)
	}
	b.namespace(t) // it still works
}

func listed(t *testing.T, name string) (embedded.Cluster, bool) {
	t.Helper()
	all, err := embedded.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c embedded.Cluster) bool { return c.Name == name })
	if i < 0 {
		return embedded.Cluster{}, false
	}
	return all[i], true
}
