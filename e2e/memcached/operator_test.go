package memcached

import (
	"context"
	"testing"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// ownOperator is the setup of a feature that changes how the operator runs: when the feature is over, however it ends, the
// operator runs again as at first.
func ownOperator(ctx context.Context, t *testing.T, s *framework.Scope) {
	ctx = context.WithoutCancel(ctx)
	t.Cleanup(func() { restart(ctx, t, s) })
}

// operatorWith is ownOperator for a feature in which the operator runs with the changes from the beginning.
func operatorWith(changes ...runner.Change) framework.StepFunc {
	return func(ctx context.Context, t *testing.T, s *framework.Scope) {
		t.Helper()
		ownOperator(ctx, t, s)
		restart(ctx, t, s, changes...)
	}
}

// restart restarts the operator with the changes, which last until the next restart.
func restart(ctx context.Context, t *testing.T, s *framework.Scope, changes ...runner.Change) {
	t.Helper()
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		t.Fatal(err)
	}
}

// stop stops the operator.
func stop(ctx context.Context, t *testing.T, s *framework.Scope) {
	t.Helper()
	if err := s.Operator.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
