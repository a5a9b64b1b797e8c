package memcached

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestProgressDeadline owns the operator. The Deployment's controller has stopped looking once all pods were ready; what keeps
// one of them from being ready again, only the operator's own deadline ends.
func TestProgressDeadline(t *testing.T) {
	ends := func(reason string, edit func(*corev1.ContainerStatus)) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.NeedsSimulation("their kubelets say how a pod is")
			release := unready(ctx, s, mc, edit)
			givenUp(ctx, s, mc, reason)
			release()
			settled(ctx, s, mc)
		}
	}
	feature := memcached.Feature("the progress deadline").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithArgs("--progress-deadline=2s")))
	framework.Given(feature, created(single, single)).
		Setup(settled).
		Assess("ends the wait for a probe that does not pass", ends(cachev1alpha1.ReasonProbeFailed, func(*corev1.ContainerStatus) {})).
		Assess("and for a container that is not created", ends(cachev1alpha1.ReasonContainerCreationStuck, func(container *corev1.ContainerStatus) {
			container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		})).
		Assess("and for pods that crash", also(portable.OwnDeadline)).
		TestAlone(t)
}

// givenUp waits until the operator no longer says that the pods are on their way.
func givenUp(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, reason string) {
	s.Helper()
	framework.WaitForConditions(ctx, s, mc,
		framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonProgressDeadlineExceeded},
		framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason},
	)
}

// TestPaused pauses a Deployment as `kubectl rollout pause` does.
func TestPaused(t *testing.T) {
	memcached.Feature("a paused Deployment").
		WithLabel("contract", "8").
		Assess("scales and does not roll out, which is reported, until it is resumed", portable.Paused).
		Test(t)
}
