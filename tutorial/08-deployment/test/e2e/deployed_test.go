package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/08-deployment/api/v1alpha1"
)

// TestPod asks the API server what it thinks of the manager's pod. Any API server can tell: no pod has to run.
func TestPod(t *testing.T) {
	stage.Feature("the manager's pod").
		Assess("is admitted where the restricted Pod Security level is enforced", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			manager := managerOf(s, manifests(s))
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manager.Namespace}}
			framework.WaitForObject(ctx, s, namespace, HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: manager.Namespace, Name: s.NewName("trial")},
				Spec:       manager.Spec.Template.Spec,
			}
			g.Expect(s.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed(), "expected that the manager's pod is admitted")
			g.Expect(pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), "expected a read-only root file system")
		}).
		Test(t)
}

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
		Assess("serves the sample", settled).
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
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(*spec.Size+1, 5)) })
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}
