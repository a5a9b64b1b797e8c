package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// TestDrain evicts pods of the manager's Deployment, as kubectl drain does. The pods are simulated: the API server and the disruption
// controller only look at their status.
func TestDrain(t *testing.T) {
	type replicas struct {
		budget *policyv1.PodDisruptionBudget
		pods   []corev1.Pod
	}
	framework.Given(stage.Feature("a drain"), func(ctx context.Context, s *framework.Scope) *replicas {
		s.NeedsSimulation("their nodes do not have the operator's image; TestDeployed evicts the deployed operator")
		g := NewWithT(s)
		budgets := manifests(s).Select("PodDisruptionBudget")
		g.Expect(budgets).To(HaveLen(1), "expected that the manifests have one PodDisruptionBudget")
		budget := &policyv1.PodDisruptionBudget{}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(budgets[0].Object, budget)).To(Succeed())
		manager := managerOf(s, manifests(s))
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: manager.Spec.Template.Spec.ServiceAccountName}}
		for _, object := range []client.Object{account, budget, manager} {
			object.SetNamespace(s.Namespace)
			g.Expect(s.Client.Create(ctx, object)).To(Succeed())
		}
		const size = 2
		framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(manager), size)
		pods := &corev1.PodList{}
		g.Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
		return &replicas{budget, pods.Items}
	}).
		Assess("may evict one of two replicas", func(ctx context.Context, s *framework.Scope, running *replicas) {
			framework.WaitForObject(ctx, s, running.budget, disruptionsAllowed(1))
		}).
		Assess("may not evict the last one that works", func(ctx context.Context, s *framework.Scope, running *replicas) {
			g := NewWithT(s)
			crash(ctx, s, &running.pods[0])
			framework.WaitForObject(ctx, s, running.budget, And(HaveField("Status.CurrentHealthy", BeEquivalentTo(1)), disruptionsAllowed(0)))
			err := evict(ctx, s, &running.pods[1])
			g.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "expected that the API server refuses to evict the last replica that works; last seen: %v", err)
		}).
		Assess("may evict replicas that do not work", func(ctx context.Context, s *framework.Scope, running *replicas) {
			crash(ctx, s, &running.pods[1])
			framework.WaitForObject(ctx, s, running.budget, HaveField("Status.CurrentHealthy", BeEquivalentTo(0)))
			NewWithT(s).Expect(evict(ctx, s, &running.pods[0])).To(Succeed(), "expected that a replica that does not work can be evicted")
		}).
		Test(t)
}

// disruptionsAllowed matches a PodDisruptionBudget whose status is up to date, and allows that many evictions.
func disruptionsAllowed(count int32) gomegatypes.GomegaMatcher {
	return And(HaveField("Status.ObservedGeneration", BeNumerically(">", 0)), HaveField("Status.DisruptionsAllowed", Equal(count)))
}

// crash has the simulated kubelet report that the pod's container crashes.
func crash(ctx context.Context, s *framework.Scope, pod *corev1.Pod) {
	s.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"testbed.example.com/simulate":"crashloop"}}}`))
	if err := s.Client.Patch(ctx, pod, patch); err != nil {
		s.Fatal(err)
	}
}

// evict requests what kubectl drain requests for each pod of a node.
func evict(ctx context.Context, s *framework.Scope, pod *corev1.Pod) error {
	return s.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}
