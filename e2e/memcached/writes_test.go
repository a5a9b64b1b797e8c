package memcached

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

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
	within := func(limit int, do func(context.Context, *testing.T, *framework.Scope)) framework.StepFunc {
		return func(ctx context.Context, t *testing.T, s *framework.Scope) {
			t.Helper()
			mark := s.Mark(t)
			do(ctx, t, s)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(limit, s.Writes(mark, notThe(canary)))
			s.Expect(t).Distinct(s.Writes(mark, audit.Resource("memcacheds", "status")))
		}
	}
	var three *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("few writes").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(framework.Step(operatorWith(runner.WithArgs("--progress-interval=10m")))).
		Assess("to make one of size 1 Available", framework.Step(within(writeBudget, func(ctx context.Context, t *testing.T, s *framework.Scope) {
			settled(ctx, t, s, create(ctx, t, s, "one", 1))
		}))).
		Assess("to make one of size 3 Available", framework.Step(within(writeBudget, func(ctx context.Context, t *testing.T, s *framework.Scope) {
			three = create(ctx, t, s, "three", 3)
			settled(ctx, t, s, three)
		}))).
		Assess("to give it two more, with one for the fields that its creation has set", framework.Step(within(writeBudget+1, resize(&three, 5)))).
		Assess("to take one away", framework.Step(within(writeBudget, resize(&three, 4)))).
		Assess("two while one pod fails, and another one beside it", framework.Step(within(2, func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsSimulation(t, "their kubelets say how a pod is")
			pods := podsOf(ctx, t, s, three)
			mend := unreadyPod(ctx, t, s, &pods[0], func(*corev1.ContainerStatus) {})
			s.Expect(t).Condition(ctx, three, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			mendToo := unreadyPod(ctx, t, s, &pods[1], func(*corev1.ContainerStatus) {})
			barrier(ctx, t, s)
			mendToo()
			barrier(ctx, t, s)
			mend()
			settled(ctx, t, s, three)
		}))).
		Assess("and none while nothing changes", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mark := s.Mark(t)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Assess("at most one to delete", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mark := s.Mark(t)
			mc := named(s, "three")
			remove(ctx, t, s, mc)
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			barrier(ctx, t, s)
			s.Expect(t).AtMost(1, s.Writes(mark, notThe(canary)))
		})).
		Assess("and never one that is in conflict", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsAudit(t)
			s.Expect(t).AtMost(0, s.Writes(audit.Mark{}, audit.Code(409)))
		})).
		Feature())
}

// resize returns a step that changes the size of a Memcached, and waits until it is so.
func resize(mc **cachev1alpha1.Memcached, size int32) func(context.Context, *testing.T, *framework.Scope) {
	return func(ctx context.Context, t *testing.T, s *framework.Scope) {
		t.Helper()
		change(ctx, t, s, *mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = &size })
		settled(ctx, t, s, *mc)
	}
}

// TestRestart owns the operator: a new process sees everything for the first time, and must find nothing to do.
func TestRestart(t *testing.T) {
	var mark audit.Mark
	memcached.TestAlone(t, features.New("restart").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Assess("writes nothing", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			for _, name := range []string{"a", "b", "c"} {
				settled(ctx, t, s, create(ctx, t, s, name, 2))
			}
			barrier(ctx, t, s)
			mark = s.Mark(t)
			restart(ctx, t, s)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Assess("and asks for nothing that it may not have", framework.Step(func(_ context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsAudit(t)
			nothingForbidden(t, s, mark, s.Operator.UserName())
		})).
		Feature())
}

// canary names the Memcacheds that barriers create.
const canary = "canary"

// barrier returns when the operator has worked off what it had to do: a canary that is created now has been reconciled, the
// audit log has the write that says so, and the canary is gone.
func barrier(ctx context.Context, t *testing.T, s *framework.Scope) {
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
