package kind

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

// Bare makes a cluster of kind/cluster.yaml as `kind create cluster --wait` does, with nothing of this package's, and returns how
// long that took: what a Provider is measured against. Nothing of the cluster is left.
func (p *Provider) Bare(ctx context.Context, image string) (took time.Duration, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create a kind cluster with kind alone: %w", err)
		}
	}()
	c, err := p.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer c.release()
	defer func() { err = errors.Join(err, p.remove()) }()
	root, err := gorun.Root(ctx)
	if err != nil {
		return 0, err
	}
	cluster, err := configuration(root, filepath.Join(root, "kind", "cluster.yaml"), p.layout.logs())
	if err != nil {
		return 0, err
	}
	if err := p.layout.prepare(); err != nil {
		return 0, err
	}
	begin := time.Now()
	err = p.containers(ctx, cluster, image, kindcluster.CreateWithWaitForReady(readyTimeout))
	return time.Since(begin), err
}
