package memcached

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestProgressDeadline owns the operator. The Deployment's controller has stopped looking once all pods were ready; what keeps
// one of them from being ready again, only the operator's own deadline ends.
func TestProgressDeadline(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	ends := func(reason string, edit func(*corev1.ContainerStatus)) framework.StepFunc {
		return func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsSimulation(t, "their kubelets say how a pod is")
			release := unready(ctx, t, s, mc, edit)
			givenUp(ctx, t, s, mc, reason)
			release()
			settled(ctx, t, s, mc)
		}
	}
	memcached.TestAlone(t, features.New("the progress deadline").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(framework.Step(operatorWith(runner.WithArgs("--progress-deadline=2s")))).
		Setup(framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
		})).
		Assess("ends the wait for a probe that does not pass", framework.Step(ends(cachev1alpha1.ReasonProbeFailed, func(*corev1.ContainerStatus) {}))).
		Assess("and for a container that is not created", framework.Step(ends(cachev1alpha1.ReasonContainerCreationStuck, func(container *corev1.ContainerStatus) {
			container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		}))).
		Feature())
}

// givenUp waits until the operator no longer says that the pods are on their way.
func givenUp(ctx context.Context, t *testing.T, s *framework.Scope, mc *cachev1alpha1.Memcached, reason string) {
	t.Helper()
	s.Expect(t).Condition(ctx, mc,
		framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonProgressDeadlineExceeded},
		framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason},
	)
}

// TestPaused pauses a Deployment as `kubectl rollout pause` does.
func TestPaused(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.Test(t, features.New("a paused Deployment").
		WithLabel("contract", "8").
		Assess("scales", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			damage(ctx, t, s, mc, `{"spec":{"paused":true}}`)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, t, s, mc)
		})).
		Assess("and does not roll out, which is told", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(11311)) })
			s.Expect(t).Condition(ctx, mc,
				framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue},
				framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonBlocked},
				framework.Condition{
					Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonDeploymentPaused,
					Message: "kubectl rollout resume deployment " + mc.Name,
				},
			)
		})).
		Assess("until it is resumed", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			damage(ctx, t, s, mc, `{"spec":{"paused":null}}`)
			settled(ctx, t, s, mc)
		})).
		Feature())
}
