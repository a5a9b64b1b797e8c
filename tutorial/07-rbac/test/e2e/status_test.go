package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/07-rbac/api/v1alpha1"
)

func TestAvailable(t *testing.T) {
	stage.Test(t, features.New("Available").
		Assess("is recorded as an event", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			s.Expect(t).Event(ctx, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonAllReplicasReady})
		})).
		Feature())
}
