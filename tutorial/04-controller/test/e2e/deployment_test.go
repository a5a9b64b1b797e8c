package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-controller/api/v1alpha1"
)

func TestSize(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	to := func(size int32) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = &size })
			settled(ctx, t, s, mc)
		}
	}
	stage.Test(t, features.New("size").
		Assess("one at first", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
		})).
		Assess("up to three", suite.Step(to(3))).
		Assess("down to two", suite.Step(to(2))).
		Feature())
}

// TestTwoInANamespace shows that the selectors of two Memcacheds share no pod.
func TestTwoInANamespace(t *testing.T) {
	stage.Test(t, features.New("two in a namespace").
		Assess("have pods of their own", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			one, two := create(ctx, t, s, "one", 2), create(ctx, t, s, "two", 1)
			settled(ctx, t, s, one)
			settled(ctx, t, s, two)
			for _, mc := range []*cachev1alpha1.Memcached{one, two} {
				deployment := deploymentOf(mc)
				s.Expect(t).Object(ctx, deployment, Not(BeNil()))
				s.Expect(t).Objects(ctx, &corev1.PodList{}, HaveLen(int(*mc.Spec.Size)),
					client.InNamespace(s.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
			}
		})).
		Feature())
}

func TestPort(t *testing.T) {
	stage.Test(t, features.New("port").
		Assess("memcached listens on it", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(12345)) })
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("Spec.Template.Spec.Containers", HaveExactElements(And(
				HaveField("Args", Equal([]string{"-p", "12345"})),
				HaveField("Ports", HaveExactElements(HaveField("ContainerPort", BeEquivalentTo(12345)))),
			))))
			settled(ctx, t, s, mc)
		})).
		Feature())
}

func TestRepair(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.Test(t, features.New("repair").
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
		})).
		Assess("the replicas that somebody changed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("vandal")); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
			settled(ctx, t, s, mc)
		})).
		Assess("a Deployment that somebody deleted", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			old := deploymentOf(mc)
			s.Expect(t).Object(ctx, old, Not(BeNil()))
			if err := s.Client.Delete(ctx, old); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, t, s, mc)
		})).
		Feature())
}

func TestDelete(t *testing.T) {
	stage.Test(t, features.New("delete").
		Assess("leaves nothing behind", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			if err := s.Client.Delete(ctx, mc); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			s.Expect(t).NoneLeft(ctx, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			s.Expect(t).NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace))
		})).
		Assess("is no error", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			// Its event comes later, so the operator has looked at the deleted one when it has served this one.
			settled(ctx, t, s, create(ctx, t, s, "next", 1))
			NewWithT(t).Expect(s.Errors(t, 0)).NotTo(ContainElement(ContainSubstring(`"cache" not found`)),
				"expected no error, and so no retry, for a Memcached that is gone")
		})).
		Feature())
}
