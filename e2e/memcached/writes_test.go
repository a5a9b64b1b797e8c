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
	within := func(limit int, do framework.Step) framework.Step {
		return func(ctx context.Context, s *framework.Scope) {
			s.Helper()
			mark := s.Mark()
			do(ctx, s)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, limit, s.Writes(mark, notThe(canary)))
			framework.VerifyDistinctWrites(ctx, s, s.Writes(mark, audit.Resource("memcacheds", "status")))
		}
	}
	memcached.Feature("few writes").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithArgs("--progress-interval=10m"))).
		Assess("to make one of size 1 Available", within(writeBudget, func(ctx context.Context, s *framework.Scope) {
			settled(ctx, s, create(ctx, s, "one", 1))
		})).
		Assess("to make one of size 3 Available", within(writeBudget, func(ctx context.Context, s *framework.Scope) {
			settled(ctx, s, create(ctx, s, "three", 3))
		})).
		Assess("to give it two more, with one for the fields that its creation has set", within(writeBudget+1, resized("three", 5))).
		Assess("to take one away", within(writeBudget, resized("three", 4))).
		Assess("two while one pod fails, and another one beside it", within(2, func(ctx context.Context, s *framework.Scope) {
			s.NeedsSimulation("their kubelets say how a pod is")
			three := existing(ctx, s, "three")
			pods := podsOf(ctx, s, three)
			mend := unreadyPod(ctx, s, &pods[0], func(*corev1.ContainerStatus) {})
			framework.WaitForConditions(ctx, s, three, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			mendToo := unreadyPod(ctx, s, &pods[1], func(*corev1.ContainerStatus) {})
			barrier(ctx, s)
			mendToo()
			barrier(ctx, s)
			mend()
			settled(ctx, s, three)
		})).
		Assess("and none while nothing changes", func(ctx context.Context, s *framework.Scope) {
			mark := s.Mark()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		Assess("at most one to delete", func(ctx context.Context, s *framework.Scope) {
			mark := s.Mark()
			mc := named(s, "three")
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 1, s.Writes(mark, notThe(canary)))
		}).
		Assess("and never one that is in conflict", func(ctx context.Context, s *framework.Scope) {
			s.NeedsAudit()
			framework.VerifyWrites(ctx, s, 0, s.Writes(audit.Mark{}, audit.Code(409)))
		}).
		TestAlone(t)
}

// resized returns a step that changes the size of a Memcached, and waits until it has as many pods.
func resized(name string, size int32) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		mc := existing(ctx, s, name)
		resize(ctx, s, mc, size)
		settled(ctx, s, mc)
	}
}

// TestRestart owns the operator: a new process sees everything for the first time, and must find nothing to do.
func TestRestart(t *testing.T) {
	feature := memcached.Feature("restart").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator")
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) (since audit.Mark) {
		for _, name := range []string{"a", "b", "c"} {
			settled(ctx, s, create(ctx, s, name, 2))
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
	mc := create(ctx, s, canary, 1)
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
