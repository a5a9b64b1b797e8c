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

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// smallest and largest are the sizes that the schema allows. The smallest is also the default.
const smallest, largest = 1, 5

func TestSize(t *testing.T) {
	memcached.Feature("size").
		WithLabel("contract", "size").
		Assess("up and down", portable.Size).
		Assess("and each status says which size it is about", portable.ObservedGeneration).
		Test(t)
}

func TestSizeIsValidated(t *testing.T) {
	memcached.Feature("size is validated").
		WithLabel("contract", "size").
		Assess("one when absent", func(ctx context.Context, s *framework.Scope) {
			mc := named(s, s.NewName("default"))
			NewWithT(s).Expect(s.Client.Create(ctx, mc)).To(Succeed())
			NewWithT(s).Expect(mc.Spec).To(Equal(cachev1alpha1.MemcachedSpec{Size: new(int32(smallest)), ContainerPort: new(int32(defaultPort))}))
		}).
		Assess("0 and 6 are refused", func(ctx context.Context, s *framework.Scope) {
			for _, size := range []int32{smallest - 1, largest + 1} {
				mc := named(s, s.NewName("wrong"))
				mc.Spec.Size = new(size)
				err := s.Client.Create(ctx, mc)
				NewWithT(s).Expect(apierrors.IsInvalid(err)).To(BeTrue(), "size %d: %v", size, err)
				NewWithT(s).Expect(err).To(MatchError(ContainSubstring("spec.size")))
			}
		}).
		Test(t)
}

// TestScale goes the way of kubectl scale and of a HorizontalPodAutoscaler: through the scale subresource.
func TestScale(t *testing.T) {
	framework.Given(memcached.Feature("scale subresource").WithLabel("contract", "size"), created(1, 2)).
		Assess("sets the size", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			settled(ctx, s, create(ctx, s, s.NewName("neighbor"), s.Size(1, 2))) // whose pod the selector must leave out
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: s.Size(3, 5)}}
			if err := s.Client.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale)); err != nil {
				s.Fatalf("scaling: %v", err)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Spec.Size", HaveValue(Equal(scale.Spec.Replicas))))
			settled(ctx, s, mc)
		}).
		Assess("reports replicas and a selector of just these pods", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			g := NewWithT(s)
			scale := &autoscalingv1.Scale{}
			g.Expect(s.Client.SubResource("scale").Get(ctx, mc, scale)).To(Succeed())
			g.Expect(scale.Status.Replicas).To(BeEquivalentTo(*mc.Spec.Size))
			g.Expect(scale.Status.Selector).NotTo(BeEmpty(), "the selector, which would select every pod")
			selector, err := labels.Parse(scale.Status.Selector)
			g.Expect(err).NotTo(HaveOccurred())
			framework.WaitForObjects(ctx, s, framework.ObjectsInput{
				List:    &corev1.PodList{},
				Options: []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: selector}},
				Matcher: HaveLen(int(*mc.Spec.Size)),
			})
		}).
		Test(t)
}
