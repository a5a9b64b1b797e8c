package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

// TestDeployed has the process make way for the operator as its users run it: as an image, of which there are two pods.
func TestDeployed(t *testing.T) {
	deployed := stage.Feature("deployed").
		WithLabel("needs", "kubelet").
		Setup(func(ctx context.Context, s *framework.Scope) {
			s.NeedsKubelet("the operator as an image")
			ownOperator(ctx, s)
			if err := s.Operator.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			s.Deploy(ctx, 2)
		})
	framework.Given(deployed, sample).
		Assess("is Available", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			framework.WaitForDeployment(ctx, s, s.Deployed.Manager, 2)
		}).
		Assess("serves the sample, and has its webhooks called", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			NewWithT(s).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy))
			settled(ctx, s, mc)
		}).
		Assess("is followed when its leader's pod is deleted", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			lease := leaseOf(s)
			framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", HaveValue(ContainSubstring("_"))))
			holder := *lease.Spec.HolderIdentity
			pod, _, _ := strings.Cut(holder, "_") // a replica adds what is random to its host's name
			leader := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Deployed.Manager.Namespace, Name: pod}}
			if err := s.Client.Delete(ctx, leader); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", HaveValue(And(ContainSubstring("_"), Not(Equal(holder))))))
			// While a pod goes, the API server may ask it, or nobody: who is refused for that tries again.
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, s.Size(*mc.Spec.Size+1, 5)))
			framework.WaitFor(ctx, s, "changing the Memcached", func(ctx context.Context) error { return s.Client.Patch(ctx, mc, patch) })
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}
