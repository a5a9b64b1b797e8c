package memcached

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// writeBudget is how many writes a Memcached may take from its creation until it is Available, or from a change of its size: one is
// for the Deployment, one says that pods are on their way, and one that they are ready. Pods that get ready one by one are mere
// progress.
const writeBudget = 3

// TestWrites owns the operator, which holds mere progress back for so long that it makes no difference how fast the machine is.
func TestWrites(t *testing.T) {
	const interval = 10 * time.Minute
	exact := conformance.Checks{Operator: typed{}, ProgressInterval: interval}
	within := func(limit int, do framework.StepOf[*cachev1alpha1.Memcached]) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.Helper()
			mark := s.Mark()
			do(ctx, s, mc)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, limit, s.Writes(mark, notThe(canary)))
		}
	}
	feature := memcached.Feature("few writes").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithArgs("--progress-interval=" + interval.String())))
	framework.Given(feature, created(3, 3)).
		Setup(settled).
		Assess("to make one of size 1 Available", also(exact.FewWrites(1))).
		Assess("to make one of size 3 Available", also(exact.FewWrites(3))).
		Assess("to change its size for the first time, from 3 to 5", within(writeBudget, resizedBy(2))).
		Assess("to take one away", within(writeBudget, resizedBy(-1))).
		Assess("two while one pod fails, and another one beside it", within(2, func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.NeedsSimulation("their kubelets say how a pod is")
			pods := podsOf(ctx, s, mc)
			restore := unreadyPod(ctx, s, &pods[0], func(*corev1.ContainerStatus) {})
			framework.WaitForConditions(ctx, s, mc, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			restoreToo := unreadyPod(ctx, s, &pods[1], func(*corev1.ContainerStatus) {})
			barrier(ctx, s)
			restoreToo()
			barrier(ctx, s)
			restore()
			settled(ctx, s, mc)
		})).
		Assess("and none while nothing changes that matters", also(exact.Quiet)).
		Assess("at most one to delete", also(exact.FewDeleteWrites)).
		Assess("and never one that is in conflict", also(exact.NoConflict)).
		Assess("nor one that repeats the one before", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			s.NeedsAudit()
			framework.VerifyDistinctWrites(ctx, s, s.Writes(audit.Mark{}, audit.Resource("memcacheds", "status")))
		}).
		TestAlone(t)
}

// resizedBy returns a step that gives a Memcached that many more pods, and waits until it has them.
func resizedBy(more int32) framework.StepOf[*cachev1alpha1.Memcached] {
	return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
		s.Helper()
		resize(ctx, s, mc, *mc.Spec.Size+more)
		settled(ctx, s, mc)
	}
}

// TestRestart owns the operator: a new process sees everything for the first time, and must find nothing to do.
func TestRestart(t *testing.T) {
	feature := memcached.Feature("restart").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator")
	framework.Given(feature, func(_ context.Context, s *framework.Scope) audit.Mark { return s.Mark() }).
		Assess("writes nothing", func(ctx context.Context, s *framework.Scope, _ audit.Mark) { portable.NoRestartWrites(ctx, s) }).
		Assess("and asks for nothing that it may not have", nothingForbidden).
		TestAlone(t)
}

// barrier returns when the operator has worked off what it had to do.
func barrier(ctx context.Context, s *framework.Scope) {
	s.Helper()
	portable.Barrier(ctx, s)
}

// canary names the Memcacheds that barriers create.
const canary = conformance.Canary

// the passes requests about objects of that name.
func the(name string) audit.Filter { return audit.About(name) }

func notThe(name string) audit.Filter { return audit.Not(the(name)) }
