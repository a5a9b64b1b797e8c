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
	if err := p.find(ctx); err != nil {
		return 0, err
	}
	if up, err := p.up(ctx); err != nil || up {
		return 0, errors.Join(err, &AlreadyUpError{Name: p.name, Kubeconfig: p.GetKubeconfig()})
	}
	root, err := gorun.Root(ctx)
	if err != nil {
		return 0, err
	}
	cluster, err := configuration(root, filepath.Join(root, "kind", "cluster.yaml"), p.layout.logs())
	if err != nil {
		return 0, err
	}
	if err := p.layout.prepare(); err != nil {
		return 0, errors.Join(err, p.remove())
	}
	begin := time.Now()
	err = p.provision(ctx, cluster, image, kindcluster.CreateWithWaitForReady(readyTimeout))
	took = time.Since(begin)
	return took, errors.Join(err, p.remove())
}
