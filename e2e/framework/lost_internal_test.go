package framework

import (
	"context"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
)

// TestLostCluster ends the run of a suite whose cluster belongs to a pool that ends.
func TestLostCluster(t *testing.T) {
	t.Parallel()
	lost := make(chan struct{})
	s := operatorSuite()
	s.cluster, s.created = onlyCapabilities{can: cluster.Capabilities{Lost: lost}}, true
	ctx, lose := context.WithCancelCause(t.Context())
	s.lose = lose
	s.watchLoan(ctx)
	if ctx.Err() != nil {
		t.Fatal("expected the run to go on while there is a cluster")
	}
	close(lost)
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.Contains(cause.Error(), "pool") {
		t.Errorf("expected the run to end because of the pool, got %v", cause)
	}
}
