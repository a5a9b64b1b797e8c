package memcached

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

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
	within := func(limit int, do framework.StepOf[*cachev1alpha1.Memcached]) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.Helper()
			mark := s.Mark()
			do(ctx, s, mc)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, limit, s.Writes(mark, notThe(canary)))
			framework.VerifyDistinctWrites(ctx, s, s.Writes(mark, audit.Resource("memcacheds", "status")))
		}
	}
	feature := memcached.Feature("few writes").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithArgs("--progress-interval=10m")))
	framework.Given(feature, func(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return named(s, s.NewName("several"))
	}).
		Assess("to make one with one pod Available", within(writeBudget, func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			settled(ctx, s, create(ctx, s, s.NewName("one"), single))
		})).
		Assess("to make one with several Available", within(writeBudget, func(ctx context.Context, s *framework.Scope, several *cachev1alpha1.Memcached) {
			several.Spec.Size = new(s.Size(2, 3))
			add(ctx, s, several)
			settled(ctx, s, several)
		})).
		Assess("to give it two more, with one for the fields that its creation has set", within(writeBudget+1, resizedBy(2))).
		Assess("to take one away", within(writeBudget, resizedBy(-1))).
		Assess("two while one pod fails, and another one beside it", within(2, func(ctx context.Context, s *framework.Scope, several *cachev1alpha1.Memcached) {
			s.NeedsSimulation("their kubelets say how a pod is")
			pods := podsOf(ctx, s, several)
			mend := unreadyPod(ctx, s, &pods[0], func(*corev1.ContainerStatus) {})
			framework.WaitForConditions(ctx, s, several, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			mendToo := unreadyPod(ctx, s, &pods[1], func(*corev1.ContainerStatus) {})
			barrier(ctx, s)
			mendToo()
			barrier(ctx, s)
			mend()
			settled(ctx, s, several)
		})).
		Assess("and none while nothing changes", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			mark := s.Mark()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		Assess("at most one to delete", func(ctx context.Context, s *framework.Scope, several *cachev1alpha1.Memcached) {
			mark := s.Mark()
			remove(ctx, s, several)
			framework.WaitForDeletion(ctx, s, several, deploymentOf(several))
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 1, s.Writes(mark, notThe(canary)))
		}).
		Assess("and never one that is in conflict", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			s.NeedsAudit()
			framework.VerifyWrites(ctx, s, 0, s.Writes(audit.Mark{}, audit.Code(409)))
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
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) (since audit.Mark) {
		for range 3 {
			settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(2, 3)))
		}
		barrier(ctx, s)
		return s.Mark()
	}).
		Assess("writes nothing", func(ctx context.Context, s *framework.Scope, since audit.Mark) {
			restart(ctx, s)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(since, notThe(canary)))
		}).
		Assess("and asks for nothing that it may not have", nothingForbidden).
		TestAlone(t)
}

// canary names the Memcacheds that barriers create.
const canary = "canary"

// barrier returns when the operator has worked off what it had to do: a canary that is created now has been reconciled, the
// audit log has the write that says so, and the canary is gone.
func barrier(ctx context.Context, s *framework.Scope) {
	s.Helper()
	since := s.Mark()
	mc := create(ctx, s, canary, single)
	settled(ctx, s, mc)
	framework.WaitForRequest(ctx, s, framework.RequestInput{
		What:   "a status of the canary that says Available=True",
		Writes: s.Writes(since, the(canary), audit.Resource("memcacheds", "status")),
		Match: func(e *auditv1.Event) bool {
			return e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), cachev1alpha1.ReasonAllReplicasReady)
		},
	})
	remove(ctx, s, mc)
	framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
}

// the passes requests about objects of that name.
func the(name string) audit.Filter { return audit.About(name) }

func notThe(name string) audit.Filter { return audit.Not(the(name)) }
