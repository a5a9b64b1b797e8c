package kind

import (
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// addOns are the Deployments that kind adds to a cluster for its users' workloads.
var addOns = []client.ObjectKey{
	{Namespace: "kube-system", Name: "coredns"},
	{Namespace: "local-path-storage", Name: "local-path-provisioner"},
}

// storageManifest is the file of a node that kind applies for the default storage.
const storageManifest = "/kind/manifests/default-storage.yaml"

// withoutDNS skips a phase more than kind does. A list in a patch replaces kind's.
const withoutDNS = `kind: InitConfiguration
skipPhases:
- preflight
- addon/coredns
`

// withoutAddOns removes the add-ons from a configuration. Their three pods take as long to start as the rest of the cluster, and suites
// resolve no name and mount no volume.
func withoutAddOns(cluster *v1alpha4.Cluster, root string) {
	cluster.KubeadmConfigPatches = append(cluster.KubeadmConfigPatches, withoutDNS)
	for i := range cluster.Nodes {
		cluster.Nodes[i].ExtraMounts = append(cluster.Nodes[i].ExtraMounts, v1alpha4.Mount{
			HostPath: filepath.Join(root, "kind", "storage-class.yaml"), ContainerPath: storageManifest, Readonly: true,
		})
	}
}

// hasAddOns reports whether the cluster gets the add-ons: one that a suite makes for itself, and takes down, goes without.
func (p *Provider) hasAddOns() bool { return !p.temporary || p.keep || p.complete }
