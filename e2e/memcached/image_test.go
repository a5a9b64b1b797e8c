package memcached

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestImage owns the operator: the image is the manager's to choose. Any legal reference will do, so nothing may be read out of
// it, such as a version from its tag.
func TestImage(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	rollsOut := func(image string) framework.StepFunc {
		return func(ctx context.Context, t *testing.T, s *framework.Scope) {
			since := len(s.Versions(ctx, t))
			restart(ctx, t, s, runner.WithEnv("MEMCACHED_IMAGE="+image))
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image))))
			settled(ctx, t, s, mc)
			rolledOutAvailable(ctx, t, s, mc, since)
		}
	}
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	memcached.TestAlone(t, features.New("image").
		WithLabel("contract", "2").
		WithLabel("disruptive", "operator").
		Setup(framework.Step(ownOperator)).
		Setup(framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsSimulation(t, "it rolls out images that are nowhere")
			mc = create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			slowPods(ctx, t, s, mc)
		})).
		Assess("another version rolls out", framework.Step(rollsOut("docker.io/library/memcached:1.6.38-alpine"))).
		Assess("without a tag", framework.Step(rollsOut("memcached"))).
		Assess("from a registry on a port", framework.Step(rollsOut("localhost:5000/memcached"))).
		Assess("by digest", framework.Step(rollsOut("registry.example.com:5000/team/memcached:1.6"+digest))).
		Assess("never was Available with fewer pods than its size", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			truthful(ctx, t, s, mc)
		})).
		Feature())
}

// TestFailingImage owns the operator, as TestImage does.
func TestFailingImage(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("failing image").
		WithLabel("contract", "1").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(framework.Step(ownOperator)).
		Assess("an image that can't be pulled makes it Degraded", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			restart(ctx, t, s, runner.WithEnv("MEMCACHED_IMAGE=registry.example.com/no-such-image:v1"))
			mc = create(ctx, t, s, "cache", 1)
			s.Expect(t).Condition(ctx, mc,
				framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
				framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonImagePullFailed, Message: "no-such-image"},
			)
			s.Expect(t).Event(ctx, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonImagePullFailed, Note: "no-such-image"})
		})).
		Assess("and is given up when the Deployment's controller does so", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			damage(ctx, t, s, mc, `{"spec":{"progressDeadlineSeconds":1}}`)
			givenUp(ctx, t, s, mc, cachev1alpha1.ReasonImagePullFailed)
		})).
		Assess("the right image mends it", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			restart(ctx, t, s)
			settled(ctx, t, s, mc)
		})).
		Feature())
}
