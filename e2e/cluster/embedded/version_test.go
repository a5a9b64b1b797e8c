package embedded_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/tier"
)

func TestVersions(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d, err := discovery.NewDiscoveryClientForConfig(b.cluster.KubernetesRestConfig())
	if err != nil {
		t.Fatal(err)
	}
	server, err := d.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if embedded.Version != "v1.37.0" || server.GitVersion != embedded.Version {
		t.Errorf("expected v1.37.0, Version is %s and the server says %s", embedded.Version, server.GitVersion)
	}

	// kubectl comes with the cluster, and its kubeconfig is all that it needs.
	assets, err := embedded.Assets(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), "--kubeconfig", b.cluster.GetKubeconfig(), "--context", b.cluster.GetKubectlContext(), "version", "--output=json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ ClientVersion, ServerVersion version.Info }
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	if said.ClientVersion.GitVersion != "v1.37.0" || said.ServerVersion.GitVersion != "v1.37.0" {
		t.Errorf("expected kubectl to say v1.37.0 twice, it said\n%s", out)
	}
}

func TestClusterHasNodes(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	nodes := &corev1.NodeList{}
	if err := b.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 3 { // as many as WithNodes says
		t.Errorf("expected 3 nodes, got %d", len(nodes.Items))
	}
	for _, node := range nodes.Items {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				t.Errorf("expected %s to be Ready when Create returns, got %+v", node.Name, c)
			}
		}
	}
}
