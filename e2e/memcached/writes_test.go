package memcached

import (
	"context"
	"net/http"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The write budget: one write creates the Deployment, one says that it is there, and each pod that gets ready may be told.
const (
	budgetOfOne   = 3
	budgetOfThree = 5
)

func TestWrites(t *testing.T) {
	budget := func(name string, size int32, limit int) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mark := s.Mark(t)
			mc := create(ctx, t, s, name, size)
			settled(ctx, t, s, mc)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(limit, s.Writes(mark, notThe(canary)))
			s.Expect(t).Distinct(s.Writes(mark, audit.Resource("memcacheds", "status")))
		}
	}
	memcached.Test(t, features.New("few writes").
		WithLabel("contract", "6").
		Assess("to make one of size 1 Available", suite.Step(budget("one", 1, budgetOfOne))).
		Assess("to make one of size 3 Available", suite.Step(budget("three", 3, budgetOfThree))).
		Assess("and none while nothing changes", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mark := s.Mark(t)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Assess("at most one to delete", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mark := s.Mark(t)
			mc := named(s, "three")
			remove(ctx, t, s, mc)
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			barrier(ctx, t, s)
			s.Expect(t).AtMost(1, s.Writes(mark, notThe(canary)))
		})).
		Assess("and never one that is in conflict", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsAudit(t)
			s.Expect(t).AtMost(0, s.Writes(audit.Mark{}, audit.Code(409)))
		})).
		Feature())
}

// TestRestart owns the operator: a new process sees everything for the first time, and must find nothing to do.
func TestRestart(t *testing.T) {
	var mark audit.Mark
	memcached.TestAlone(t, features.New("restart").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Assess("writes nothing", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			for _, name := range []string{"a", "b", "c"} {
				settled(ctx, t, s, create(ctx, t, s, name, 2))
			}
			barrier(ctx, t, s)
			mark = s.Mark(t)
			restart(ctx, t, s)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Assess("and may read all that it asks for", suite.Step(func(_ context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsAudit(t)
			// Of reads alone: to write is refused, too, in a namespace of another feature that is going.
			refused, err := s.Audit.Since(mark, audit.ByUser(s.Operator.UserName()), audit.Not(audit.Writes), audit.Code(http.StatusForbidden))
			if err != nil {
				t.Fatal(err)
			}
			if len(refused) > 0 {
				t.Errorf("expected that the operator may read what it tries to; last seen:\n%s", audit.Describe(refused))
			}
		})).
		Feature())
}

// canary names the Memcacheds that barriers create.
const canary = "canary"

// barrier returns when the operator has worked off what it had to do: a canary that is created now has been reconciled, the
// audit log has the write that says so, and the canary is gone.
func barrier(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
	since := s.Mark(t)
	mc := create(ctx, t, s, canary, 1)
	settled(ctx, t, s, mc)
	s.Expect(t).Logged(ctx, "a status of the canary that says Available=True", s.Writes(since, the(canary), audit.Resource("memcacheds", "status")),
		func(e *auditv1.Event) bool {
			return e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), cachev1alpha1.ReasonAllReplicasReady)
		})
	remove(ctx, t, s, mc)
	s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
}

// the passes requests about objects of that name.
func the(name string) audit.Filter { return audit.About(name) }

func notThe(name string) audit.Filter { return audit.Not(the(name)) }
