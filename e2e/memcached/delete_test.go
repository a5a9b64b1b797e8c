package memcached

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
)

func TestDelete(t *testing.T) {
	remove := func(policy metav1.DeletionPropagation) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			if err := s.Client.Delete(ctx, mc, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			s.Expect(t).NoneLeft(ctx, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			s.Expect(t).NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace))
		}
	}
	memcached.Test(t, features.New("delete").
		Assess("in the background leaves nothing", suite.Step(remove(metav1.DeletePropagationBackground))).
		Assess("in the foreground leaves nothing", suite.Step(remove(metav1.DeletePropagationForeground))).
		Feature())
}
