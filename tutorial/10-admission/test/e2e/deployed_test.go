package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/10-admission/api/v1alpha1"
)

// TestDeployed has the process make way for the operator as its users run it: as an image, of which there are two pods.
func TestDeployed(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	stage.TestAlone(t, features.New("deployed").
		WithLabel("needs", "kubelet").
		Setup(framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsKubelet(t, "the operator as an image")
			ownOperator(ctx, t, s)
			if err := s.Operator.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			s.Deploy(ctx, t, 2)
		})).
		Assess("is Available", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.Expect(t).DeploymentSize(ctx, s.Deployed.Manager, 2)
		})).
		Assess("serves the sample without webhooks, and the schema holds", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc = sample(ctx, t, s)
			NewWithT(t).Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy))
			settled(ctx, t, s, mc)
			refused(t, patch(ctx, s, mc, `{"spec":{"size":6}}`), "spec.size", "should be less than or equal to 5")
		})).
		Assess("is followed when its leader's pod is deleted", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			lease := leaseOf(s)
			s.Expect(t).Object(ctx, lease, HaveField("Spec.HolderIdentity", HaveValue(ContainSubstring("_"))))
			holder := *lease.Spec.HolderIdentity
			pod, _, _ := strings.Cut(holder, "_") // a replica adds what is random to its host's name
			leader := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Deployed.Manager.Namespace, Name: pod}}
			if err := s.Client.Delete(ctx, leader); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Object(ctx, lease, HaveField("Spec.HolderIdentity", HaveValue(And(ContainSubstring("_"), Not(Equal(holder))))))
			NewWithT(t).Expect(patch(ctx, s, mc, `{"spec":{"size":2}}`)).To(Succeed())
			settled(ctx, t, s, mc)
		})).
		Feature())
}
