package memcached

import (
	"context"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// ownOperator is the setup of a feature that changes how the operator runs: when the feature is over, however it ends, the
// operator runs again as at first.
func ownOperator(ctx context.Context, s *framework.Scope) { s.RestartAfterwards(ctx) }

// operatorWith is ownOperator for a feature in which the operator runs with the changes from the beginning.
func operatorWith(changes ...runner.Change) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		ownOperator(ctx, s)
		restart(ctx, s, changes...)
	}
}

// servedBy returns the feature's scope with another operator.
func servedBy(s *framework.Scope, operator *runner.Operator) *framework.Scope {
	other := *s
	other.Operator = operator
	return &other
}

// restart restarts the operator with the changes, which last until the next restart.
func restart(ctx context.Context, s *framework.Scope, changes ...runner.Change) {
	s.Helper()
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		s.Fatal(err)
	}
}

// stop stops the operator.
func stop(ctx context.Context, s *framework.Scope) {
	s.Helper()
	if err := s.Operator.Stop(ctx); err != nil {
		s.Fatal(err)
	}
}
