package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
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
		Assess("serves the sample without webhooks, and the schema holds", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			NewWithT(s).Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy))
			settled(ctx, s, mc)
			refused(s, resize(ctx, s, mc, largest+1), "spec.size", fmt.Sprintf("should be less than or equal to %d", largest))
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
			NewWithT(s).Expect(resize(ctx, s, mc, s.Size(*mc.Spec.Size+1, largest))).To(Succeed())
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}
