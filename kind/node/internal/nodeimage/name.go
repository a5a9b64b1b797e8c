package nodeimage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// repository is the name of every image made here, without a tag. It is local:
// nothing is ever pushed to it or pulled from it.
const repository = "operator-testbed/kind-node"

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// imageName is made of the version of Kubernetes in a go.mod, and of the inputs.
func imageName(goMod string, inputs []string) (string, error) {
	found := kubernetesVersion.FindStringSubmatch(goMod)
	if found == nil {
		return "", errors.New("kind/kubernetes/go.mod requires no k8s.io/kubernetes")
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", inputs))
	return fmt.Sprintf("%s:%s-%s", repository, found[1], hex.EncodeToString(sum[:])[:12]), nil
}

// adaptSpec changes containerd's default specification as kind does: a hook that
// gives every node a product id of its own, and no limits of open files, which are
// the machine's.
func adaptSpec(spec []byte) ([]byte, error) {
	var content map[string]any
	if err := json.Unmarshal(spec, &content); err != nil {
		return nil, fmt.Errorf("reading the output of ctr oci spec: %w", err)
	}
	hooks, _ := content["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
		content["hooks"] = hooks
	}
	created, _ := hooks["createContainer"].([]any)
	hooks["createContainer"] = append(created, map[string]any{"path": "/kind/bin/mount-product-files.sh"})
	if process, ok := content["process"].(map[string]any); ok {
		delete(process, "rlimits")
	}
	return json.Marshal(content)
}
