package memcached

import (
	"context"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestDeployed owns the operator, which makes way for one of the same code that runs as its users run it: as an image, of which
// there are two pods. Features that own no operator meet one that is deployed, too, where that can be: see framework.Options.
func TestDeployed(t *testing.T) {
	type cache struct {
		mc   *cachev1alpha1.Memcached
		pods []string // from before the operator is deployed
	}
	feature := memcached.Feature("deployed").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		WithLabel("needs", "kubelet").
		Setup(needsKubelet).
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) cache {
		mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
		settled(ctx, s, mc)
		pods := namesOf(podsOf(ctx, s, mc))
		stop(ctx, s)
		s.Deploy(ctx, 2)
		return cache{mc, pods}
	}).
		Assess("runs in a namespace that enforces the restricted Pod Security level", func(ctx context.Context, s *framework.Scope, _ cache) {
			framework.WaitForDeployment(ctx, s, s.Deployed.Manager, 2)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Deployed.Manager.Namespace}}
			framework.WaitForObject(ctx, s, namespace, HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
		}).
		Assess("goes on with what was there, and restarts no pod", func(ctx context.Context, s *framework.Scope, before cache) {
			settled(ctx, s, create(ctx, s, s.NewName("next"), s.Size(1, 2)))
			settled(ctx, s, before.mc)
			NewWithT(s).Expect(namesOf(podsOf(ctx, s, before.mc))).To(Equal(before.pods))
		}).
		Assess("is followed when its leader is killed", func(ctx context.Context, s *framework.Scope, before cache) {
			lease := leaseIn(s.Deployed.Manager.Namespace)
			framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", Not(HaveValue(BeEmpty()))))
			pods := managers(ctx, s)
			leading := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name+"_") })
			if leading < 0 {
				s.Fatalf("the lease is %s's, expected it to be a pod's of %q", *lease.Spec.HolderIdentity, namesOf(pods))
			}
			s.Signal(ctx, &pods[leading], "manager", "KILL")
			// By the other pod, or by its own next process if the kubelet is quick.
			framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeElementOf("", *lease.Spec.HolderIdentity)))))
			// While the webhooks of one pod are away, the API server may ask it, or nobody: who is refused for that tries again.
			patch := sizePatch(s.Size(4, 5))
			framework.WaitFor(ctx, s, "changing the Memcached", func(ctx context.Context) error { return s.Client.Patch(ctx, before.mc, patch) })
			settled(ctx, s, before.mc)
			restarted(ctx, s, &pods[leading], "Error")
			framework.WaitForDeployment(ctx, s, s.Deployed.Manager, 2)
		}).
		TestAlone(t)
}

// managers returns the pods of an operator that is deployed.
func managers(ctx context.Context, s *framework.Scope) []corev1.Pod {
	s.Helper()
	pods := &corev1.PodList{}
	if err := s.Client.List(ctx, pods, client.InNamespace(s.Deployed.Manager.Namespace)); err != nil {
		s.Fatal(err)
	}
	return pods.Items
}

func namesOf(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}
