package cluster

import (
	"context"
	"io"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

// Kubectl returns the path of a kubectl of the Kubernetes version that this module pins. It is downloaded or compiled if it is missing.
func Kubectl(ctx context.Context) (string, error) {
	programs, err := embedded.Assets(ctx, io.Discard)
	return filepath.Join(programs, "kubectl"), err
}
