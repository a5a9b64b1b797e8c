package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/08-deployment/api/v1alpha1"
)

func TestAvailable(t *testing.T) {
	framework.Given(stage.Feature("Available"), created(1, 2)).
		Assess("is recorded as an event", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonAllReplicasReady})
		}).
		Test(t)
}
