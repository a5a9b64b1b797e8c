package nodeimage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// repository is the name of every image made here, without a tag. It is local:
// nothing is ever pushed to it or pulled from it.
const repository = "operator-testbed/kind-node"

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// versionIn returns the version of Kubernetes that a go.mod requires.
func versionIn(goMod string) (string, error) {
	found := kubernetesVersion.FindStringSubmatch(goMod)
	if found == nil {
		return "", errors.New("kind/kubernetes/go.mod requires no k8s.io/kubernetes")
	}
	return found[1], nil
}

// imageName is made of the version of Kubernetes and of the inputs.
func imageName(version string, inputs []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", inputs))
	return fmt.Sprintf("%s:%s-%s", repository, version, hex.EncodeToString(sum[:])[:12])
}

// adaptSpec changes containerd's default specification as kind does: a hook that
// gives every node a product id of its own, and no limits of open files but the
// machine's.
func adaptSpec(spec []byte) ([]byte, error) {
	content := specs.Spec{Hooks: &specs.Hooks{}, Process: &specs.Process{}}
	if err := json.Unmarshal(spec, &content); err != nil {
		return nil, fmt.Errorf("read the output of ctr oci spec: %w", err)
	}
	content.Hooks.CreateContainer = append(content.Hooks.CreateContainer, specs.Hook{Path: "/kind/bin/mount-product-files.sh"})
	content.Process.Rlimits = nil
	return json.Marshal(content)
}
