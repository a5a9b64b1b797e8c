package e2e

import (
	"context"
	"testing"

	"github.com/example/operator-testbed/e2e/framework"
)

func TestPass(t *testing.T) {
	stage.Feature("the tests of the operator").
		Assess("pass on the healthy operator", func(ctx context.Context, s *framework.Scope) { tests.Pass(ctx, s) }).
		Test(t)
}

func TestSteady(t *testing.T) {
	stage.Feature("the tests of the operator, repeated").
		Assess("pass each time, in any order", func(ctx context.Context, s *framework.Scope) {
			tests.PassAgain(ctx, s)
		}).
		Test(t)
}

// noticed returns a step that checks that the tests notice a fault.
func noticed(fault string) framework.Step {
	return func(ctx context.Context, s *framework.Scope) { tests.Notice(ctx, s, fault) }
}

func TestNoticesAvailableTooEarly(t *testing.T) {
	stage.Feature("an operator that reports Available too early").
		Assess("is noticed by the tests", noticed("available-too-early")).
		Test(t)
}

func TestNoticesOutdatedStatus(t *testing.T) {
	stage.Feature("an operator that believes an outdated status").
		Assess("is noticed by the tests", noticed("outdated-status-believed")).
		Test(t)
}

func TestNoticesCrashes(t *testing.T) {
	stage.Feature("an operator that does not report crashes").
		Assess("is noticed by the tests", noticed("crashes-not-reported")).
		Test(t)
}

func TestNoticesUnsortedNodes(t *testing.T) {
	stage.Feature("an operator whose nodes are unsorted").
		Assess("is noticed by the tests", noticed("nodes-unsorted")).
		Test(t)
}

func TestNoticesDeletion(t *testing.T) {
	stage.Feature("an operator for which a deletion is an error").
		Assess("is noticed by the tests", noticed("gone-is-an-error")).
		Test(t)
}

func TestNoticesLostErrors(t *testing.T) {
	stage.Feature("an operator that drops an error").
		Assess("is noticed by the tests", noticed("error-lost")).
		Test(t)
}

func TestNoticesNeedlessWrites(t *testing.T) {
	stage.Feature("an operator that writes what has not changed").
		Assess("is noticed by the tests", noticed("written-each-time")).
		Test(t)
}
