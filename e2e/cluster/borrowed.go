package cluster

import (
	"context"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/cluster/pool"
)

// Pool returns the pool that this process was started with, for [Options.Pool], or "".
func Pool() string { return pool.FromEnvironment() }

// borrowed is a cluster of a pool.
type borrowed struct {
	pool string
	lost chan struct{} // closed when the pool ends while the cluster is ours
}

// borrow is an [embedded.Borrow].
func (b *borrowed) borrow(ctx context.Context, crds []string) (string, func() error, error) {
	paths := make([]string, len(crds))
	for i, path := range crds {
		var err error
		if paths[i], err = filepath.Abs(path); err != nil {
			return "", nil, err
		}
	}
	loan, err := pool.Borrow(ctx, b.pool, paths...)
	if err != nil {
		return "", nil, err
	}
	returned := make(chan struct{})
	go func() {
		<-loan.Lost()
		select {
		case <-returned:
		default:
			close(b.lost)
		}
	}()
	return loan.Cluster, func() error {
		close(returned)
		return loan.Return()
	}, nil
}
