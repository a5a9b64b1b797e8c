package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
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

func TestWithoutAddOns(t *testing.T) {
	g := NewWithT(t)
	cluster, err := configuration(root, filepath.Join(root, "kind", "three-nodes.yaml"), "/state/logs")
	g.Expect(err).NotTo(HaveOccurred())
	patches := len(cluster.KubeadmConfigPatches)
	withoutAddOns(cluster, root)
	g.Expect(cluster.KubeadmConfigPatches).To(HaveLen(patches + 1))
	var patch struct {
		Kind       string   `json:"kind"`
		SkipPhases []string `json:"skipPhases"`
	}
	g.Expect(yaml.UnmarshalStrict([]byte(cluster.KubeadmConfigPatches[patches]), &patch)).To(Succeed())
	g.Expect(patch.Kind).To(Equal("InitConfiguration"))
	g.Expect(patch.SkipPhases).To(ConsistOf("preflight", "addon/coredns"), "the list replaces kind's, which has preflight")
	g.Expect(cluster.Nodes).To(HaveEach(HaveField("ExtraMounts", ContainElement(And(
		HaveField("ContainerPath", storageManifest), HaveField("HostPath", BeARegularFile()), HaveField("Readonly", true),
	)))))

	p := NewProvider()
	g.Expect(p.hasAddOns()).To(BeTrue(), "a cluster to play with")
	p.WithOpts(Temporary())
	g.Expect(p.hasAddOns()).To(BeFalse(), "a suite's cluster")
	measured := NewProvider()
	measured.WithOpts(Temporary(), Complete())
	g.Expect(measured.hasAddOns()).To(BeTrue(), "a cluster that is measured")
	p.WithOpts(Keep())
	g.Expect(p.hasAddOns()).To(BeTrue(), "a suite's cluster that is kept")
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
