package cluster

import (
	"context"
	"io"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

// Root returns the directory of the clone whose module the working directory is in, or uses: the operator's sources and what
// clusters are built from are there.
func Root(ctx context.Context) (string, error) { return gorun.Root(ctx) }

// Line runs the command of the module in a directory with `go run`, and returns the line that it prints. Its progress goes to progress. When
// ctx is done, the command and everything that it has started are interrupted, and they exit when this process does.
func Line(ctx context.Context, progress io.Writer, directory string, args ...string) (string, error) {
	return gorun.Line(ctx, progress, directory, args...)
}
