package memcached

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestRepair(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	var made *appsv1.Deployment
	damage := func(patch string, mended OmegaMatcher) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			damaged := deploymentOf(mc)
			if err := s.Client.Patch(ctx, damaged, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Object(ctx, damaged, mended)
			settled(ctx, t, s, mc)
		}
	}
	memcached.Test(t, features.New("repair").
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			made = deploymentOf(mc)
			s.Expect(t).Object(ctx, made, HaveField("OwnerReferences", ConsistOf(And(
				HaveField("UID", mc.UID), HaveField("Controller", HaveValue(BeTrue())),
			))))
		})).
		Assess("the replicas", suite.Step(damage(`{"spec":{"replicas":4}}`, HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2)))))).
		Assess("the image", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			image := made.Spec.Template.Spec.Containers[0].Image
			damage(`{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"example.com/other:v1"}]}}}}`,
				HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image))))(ctx, t, s)
		})).
		Assess("a label", suite.Step(damage(`{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`,
			HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/name", "memcached"))))).
		Assess("the owner reference", suite.Step(damage(`{"metadata":{"ownerReferences":null}}`,
			HaveField("OwnerReferences", HaveLen(1))))).
		Assess("but not what others add", suite.Step(damage(`{"metadata":{"annotations":{"example.com/note":"kept"}},"spec":{"replicas":1}}`, And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))),
			HaveField("Annotations", HaveKeyWithValue("example.com/note", "kept")),
		)))).
		Assess("a Deployment that was deleted", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
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

// TestTwoInANamespace shows that two Memcacheds share no pod: each selector carries its owner's UID.
func TestTwoInANamespace(t *testing.T) {
	memcached.Test(t, features.New("two in a namespace").
		Assess("have pods of their own", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			one, two := create(ctx, t, s, "one", 2), create(ctx, t, s, "two", 1)
			settled(ctx, t, s, one)
			settled(ctx, t, s, two)
			s.Expect(t).Object(ctx, one, HaveField("Status.Nodes", HaveLen(2)))
			s.Expect(t).Object(ctx, two, And(
				HaveField("Status.Nodes", HaveLen(1)),
				HaveField("Status.Nodes", Not(ContainElements(one.Status.Nodes))),
				HaveField("Status.Selector", Not(Equal(one.Status.Selector))),
			))
		})).
		Feature())
}
