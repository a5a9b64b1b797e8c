package kind

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// nodeLogs is the directory of a node that kind/cluster.yaml has the audit log in.
const nodeLogs = "/var/log/kubernetes"

// configuration reads a configuration of kind's. Its paths are relative to root. All nodes have the directory of the first one's
// audit log from this machine: by it they are known to be this testbed's.
func configuration(root, path, logs string) (*v1alpha4.Cluster, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cluster := &v1alpha4.Cluster{}
	strict := yaml.NewDecoder(bytes.NewReader(content))
	strict.KnownFields(true)
	if err := strict.Decode(cluster); err != nil {
		return nil, fmt.Errorf("%s is not a kind configuration: %w", path, err)
	}
	if len(cluster.Nodes) == 0 {
		cluster.Nodes = []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
	}
	for i := range cluster.Nodes {
		for j := range cluster.Nodes[i].ExtraMounts {
			if mount := &cluster.Nodes[i].ExtraMounts[j]; !filepath.IsAbs(mount.HostPath) {
				mount.HostPath = filepath.Join(root, mount.HostPath)
			}
		}
		cluster.Nodes[i].ExtraMounts = append(cluster.Nodes[i].ExtraMounts, v1alpha4.Mount{HostPath: logs, ContainerPath: nodeLogs})
	}
	return cluster, nil
}
