package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-certificates/api/v1alpha1"
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
		Assess("serves the sample, and has its webhooks called", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc = sample(ctx, t, s)
			NewWithT(t).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy))
			settled(ctx, t, s, mc)
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
			// While a pod goes, the API server may ask it, or nobody: who is refused for that tries again.
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`))
			s.Expect(t).Until(ctx, "changing the Memcached", func(ctx context.Context) error { return s.Client.Patch(ctx, mc, patch) })
			settled(ctx, t, s, mc)
		})).
		Feature())
}
