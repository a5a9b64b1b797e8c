package cluster

import (
	"context"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

// Root returns the directory of the clone whose module the working directory is in, or uses: the operator's sources and what
// clusters are built from are there.
func Root(ctx context.Context) (string, error) { return gorun.Root(ctx) }
