package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

const root = "../../.."

func TestConfigurations(t *testing.T) {
	g := NewWithT(t)
	one, err := configuration(root, filepath.Join(root, "kind", "cluster.yaml"), "/state/logs")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one.Nodes).To(HaveLen(1))
	mounts := one.Nodes[0].ExtraMounts
	g.Expect(mounts).To(ContainElement(v1alpha4.Mount{HostPath: "/state/logs", ContainerPath: nodeLogs}))
	g.Expect(mounts[0].HostPath).To(BeARegularFile(), "the audit policy of the embedded cluster")
	g.Expect(strings.Join(one.KubeadmConfigPatches, "")).To(ContainSubstring(nodeLogs + "/audit.log"))

	three, err := configuration(root, filepath.Join(root, "kind", "three-nodes.yaml"), "/state/logs")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(three.Nodes).To(HaveLen(3))
	three.Nodes = three.Nodes[:1]
	for _, sooner := range []string{
		"  - name: default-not-ready-toleration-seconds\n    value: \"10\"\n",
		"  - name: default-unreachable-toleration-seconds\n    value: \"10\"\n",
		"  # With the tolerations below, the pods of a node that has gone are elsewhere within a minute, and not after six.\n  - name: node-monitor-grace-period\n    value: 30s\n",
	} {
		for i, patch := range three.KubeadmConfigPatches {
			three.KubeadmConfigPatches[i] = strings.Replace(patch, sooner, "", 1)
		}
	}
	g.Expect(three).To(Equal(one), "kind/three-nodes.yaml differs from kind/cluster.yaml in more than its workers, and how soon a node has gone")
}

func TestConfigurationWithAMistake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte("kind: Cluster\nnodez: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := configuration(root, path, "/state/logs")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("nodez")))
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TESTBED_STATE", "/state")
	l, err := layoutOf("testbed")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l.kubeconfig()).To(Equal("/state/kind/testbed/kubeconfig"))
	for _, name := range []string{"", "My_Cluster", "../x", strings.Repeat("n", longest+1)} {
		_, err := layoutOf(name)
		g.Expect(err).To(MatchError(ContainSubstring("is not a valid name for a kind cluster")), name)
	}
}
