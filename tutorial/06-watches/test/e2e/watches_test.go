package e2e

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/06-watches/api/v1alpha1"
)

// TestQuiet proves that nothing happens by what happens afterwards: the operator has served another Memcached since, and the
// audit log has no write of its own about this one.
func TestQuiet(t *testing.T) {
	stage.Feature("a change that does not matter").
		Assess("triggers no reconcile", func(ctx context.Context, s *framework.Scope) {
			s.NeedsAudit()
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			settled(ctx, s, create(ctx, s, s.NewName("before"), s.Size(1, 2)))
			mark := s.Mark()
			note := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/note":"new"}}}`))
			NewWithT(s).Expect(s.Client.Patch(ctx, mc, note)).To(Succeed())
			settled(ctx, s, create(ctx, s, s.NewName("after"), s.Size(1, 2)))
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.About(mc.Name)))
		}).
		Test(t)
}

// TestFailingImage has a failure that only the pod shows. All nodes are cordoned at first, so the Deployment has settled when the pod
// fails.
func TestFailingImage(t *testing.T) {
	stage.Feature("an image that can't be pulled").
		WithLabel("disruptive", "cluster").
		Assess("is reported at once", func(ctx context.Context, s *framework.Scope) {
			if s.Cluster.RunsPods {
				s.Skip("real nodes may have other work to do, and are not cordoned")
			}
			restart(ctx, s, runner.WithEnv("MEMCACHED_IMAGE=registry.example.com/no-such-image:v1"))
			cordon(ctx, s, true)
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			framework.WaitForObjects(ctx, s, framework.ObjectsInput{
				List:    &corev1.PodList{},
				Options: []client.ListOption{client.InNamespace(s.Namespace)},
				Matcher: And(HaveLen(int(*mc.Spec.Size)), HaveEach(HaveField("Status.Conditions", ContainElement(And(
					HaveField("Type", corev1.PodScheduled), HaveField("Status", corev1.ConditionFalse),
				))))),
			})
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Status.UnavailableReplicas", BeEquivalentTo(*mc.Spec.Size)))
			rest(ctx, s)
			cordon(ctx, s, false)
			framework.WaitForConditions(ctx, s, mc, framework.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsFailing, Message: "no-such-image",
			})
			restart(ctx, s)
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}

// cordon makes all nodes take no more pods, or take them again.
func cordon(ctx context.Context, s *framework.Scope, is bool) {
	s.Helper()
	nodes := &corev1.NodeList{}
	NewWithT(s).Expect(s.Client.List(ctx, nodes)).To(Succeed())
	for _, node := range nodes.Items {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, is))
		NewWithT(s).Expect(s.Client.Patch(ctx, &node, patch)).To(Succeed())
	}
}

// rest waits until the operator has done what there was to do: it serves one more Memcached, which comes to nothing.
func rest(ctx context.Context, s *framework.Scope) {
	s.Helper()
	canary := create(ctx, s, s.NewName("canary"), s.Size(1, 2))
	framework.WaitForConditions(ctx, s, canary, framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue})
	NewWithT(s).Expect(s.Client.Delete(ctx, canary)).To(Succeed())
	framework.WaitForDeletion(ctx, s, canary, deploymentOf(canary))
}

func TestScope(t *testing.T) {
	stage.Feature("one namespace").
		Assess("is served, and no other", func(ctx context.Context, s *framework.Scope) {
			restart(ctx, s, runner.WithArgs("--namespaces="+s.Namespace))
			other := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: s.Namespace}}
			NewWithT(s).Expect(s.Client.Create(ctx, other)).To(Succeed())
			settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2)))
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(other), deploymentOf(other))
			NewWithT(s).Expect(err).To(MatchError(ContainSubstring("not found")), "expected no Deployment in a namespace that is not served")

			restart(ctx, s)
			settled(ctx, s, other)
			NewWithT(s).Expect(s.Client.Delete(ctx, other)).To(Succeed())
			framework.WaitForDeletion(ctx, s, other, deploymentOf(other))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(other.Namespace), client.MatchingLabels{"cache.example.com/memcached-uid": string(other.UID)})
		}).
		TestAlone(t)
}

// restart starts the operator again with the changes, or as it was at first.
func restart(ctx context.Context, s *framework.Scope, changes ...runner.Change) {
	s.Helper()
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		s.Fatal(err)
	}
}
