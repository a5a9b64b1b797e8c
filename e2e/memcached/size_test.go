package memcached

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestSize(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	to := func(size int32) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(size) })
			settled(ctx, t, s, mc)
		}
	}
	memcached.Test(t, features.New("size").
		WithLabel("contract", "size").
		Assess("one at first", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
		})).
		Assess("up to three", suite.Step(to(3))).
		Assess("up to five", suite.Step(to(5))).
		Assess("down to three", suite.Step(to(3))).
		Assess("down to one", suite.Step(to(1))).
		Feature())
}

func TestSizeIsValidated(t *testing.T) {
	memcached.Test(t, features.New("size is validated").
		WithLabel("contract", "size").
		Assess("one when absent", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "default")
			NewWithT(t).Expect(s.Client.Create(ctx, mc)).To(Succeed())
			NewWithT(t).Expect(mc.Spec).To(Equal(cachev1alpha1.MemcachedSpec{Size: new(int32(1)), ContainerPort: new(int32(11211))}))
		})).
		Assess("0 and 6 are refused", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			for _, size := range []int32{0, 6} {
				mc := named(s, "wrong")
				mc.Spec.Size = new(size)
				err := s.Client.Create(ctx, mc)
				NewWithT(t).Expect(apierrors.IsInvalid(err)).To(BeTrue(), "size %d: %v", size, err)
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring("spec.size")))
			}
		})).
		Feature())
}

// TestScale goes the way of kubectl scale and of a HorizontalPodAutoscaler: through the scale subresource.
func TestScale(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.Test(t, features.New("scale subresource").
		WithLabel("contract", "size").
		Assess("sets the size", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			settled(ctx, t, s, create(ctx, t, s, "neighbor", 1)) // whose pod the selector must leave out
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
			if err := s.Client.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale)); err != nil {
				t.Fatalf("scaling: %v", err)
			}
			s.Expect(t).Object(ctx, mc, HaveField("Spec.Size", HaveValue(BeEquivalentTo(3))))
			settled(ctx, t, s, mc)
		})).
		Assess("reports replicas and a selector of just these pods", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			g := NewWithT(t)
			scale := &autoscalingv1.Scale{}
			g.Expect(s.Client.SubResource("scale").Get(ctx, mc, scale)).To(Succeed())
			g.Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
			g.Expect(scale.Status.Selector).NotTo(BeEmpty(), "the selector, which would select every pod")
			selector, err := labels.Parse(scale.Status.Selector)
			g.Expect(err).NotTo(HaveOccurred())
			s.Expect(t).Objects(ctx, &corev1.PodList{}, HaveLen(3), client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: selector})
		})).
		Feature())
}
