package kind

import (
	"context"
	"errors"
	"fmt"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
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
	cluster, err := p.configured(ctx, "")
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = p.containers(ctx, cluster, image, kindcluster.CreateWithWaitForReady(readyTimeout))
	return time.Since(begin), err
}
