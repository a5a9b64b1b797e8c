// Package helm runs Helm, at the version that scripts/helm pins: it lints, renders and installs the operator's chart as its users do.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// module is the go.mod that pins Helm, seen from the repository's root.
const module = "scripts/helm/go.mod"

// Helm is a Helm executable.
type Helm struct {
	path string
	// Kubeconfig is the file by which it reaches a cluster; empty if it needs none.
	Kubeconfig string
	// Cache is the directory for what it learns of that cluster. Without one, it may take what it has learned of another at the same
	// address for this one's.
	Cache string
}

// Build compiles Helm, which takes a minute or two the first time, in the repository at root. Others may do so at the same time.
func Build(ctx context.Context, root string) (Helm, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "helm"))
	if err == nil {
		err = runner.Build(ctx, root, "helm.sh/helm/v4/cmd/helm", path, "-modfile="+module)
	}
	return Helm{path: path}, err
}

// Run runs a command, such as `helm install`, and returns what it prints. Helm's error message is part of the error.
func (h Helm) Run(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, h.path, args...)
	// Neither the user's cluster nor their plugins and repositories.
	command.Env = append(os.Environ(), "KUBECONFIG="+h.Kubeconfig, "KUBECACHEDIR="+h.Cache, "HELM_NAMESPACE=", "HELM_KUBECONTEXT=", "HELM_PLUGINS="+os.DevNull, "HELM_DRIVER=")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, stdout.Bytes(), bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// Template returns what a release of the chart installs, with more arguments such as --set=name=value.
func (h Helm) Template(ctx context.Context, chart, release, namespace string, args ...string) (manifest.Set, error) {
	rendered, err := h.Run(ctx, append([]string{"template", release, chart, "--namespace=" + namespace}, args...)...)
	if err != nil {
		return manifest.Set{}, err
	}
	return manifest.Parse(rendered)
}
