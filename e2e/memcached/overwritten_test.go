package memcached

import (
	"context"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// repairsInARow is how many times in a row the operator puts the same field back at once.
const repairsInARow = 5

// TestOverwritten owns the operator, which sets a field that others keep changing only once in a time that does not pass here. So the
// number of writes is exact.
func TestOverwritten(t *testing.T) {
	overwritten := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, field, by string) {
		s.Helper()
		for _, part := range []string{field, by} {
			framework.WaitForConditions(ctx, s, mc,
				framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonFieldsOverwritten, Message: part},
				framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonBlocked})
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonFieldsOverwritten, Note: part})
		}
	}
	ofDeployment := func(s *framework.Scope, since audit.Mark, mc *cachev1alpha1.Memcached) framework.Writes {
		return s.Writes(since, the(mc.Name), audit.Resource("deployments", ""))
	}
	memcached.Feature("fields that others keep changing").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithArgs("--recheck-interval=1h"))).
		Assess("by a policy", func(ctx context.Context, s *framework.Scope) {
			lift := rewriteImages(ctx, s)
			mark := s.Mark()
			mc := create(ctx, s, s.NewName("policy"), single)
			overwritten(ctx, s, mc, "spec.template.spec.containers[memcached].image", "an admission webhook or policy")
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), single)
			for range 10 {
				for _, pod := range podsOf(ctx, s, mc) {
					remove(ctx, s, &pod)
					framework.WaitForDeletion(ctx, s, &pod)
				}
				framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), single)
			}
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 2, ofDeployment(s, mark, mc)) // to create it, and to set the image
			framework.VerifyWrites(ctx, s, 1, s.Writes(mark, the(mc.Name), audit.Resource("events", "")))
			lift()
			resize(ctx, s, mc, s.Size(2, 3))
			settled(ctx, s, mc)
		}).
		Assess("by another program", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("contested"), single)
			settled(ctx, s, mc)
			mark := s.Mark()
			scale := func(replicas int32) {
				damage(ctx, s, mc, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
			}
			for range repairsInARow {
				scale(s.Size(2, 5))
				framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(Equal(int32(single)))))
			}
			for range 5 {
				scale(s.Size(2, 3))
				overwritten(ctx, s, mc, "spec.replicas", fmt.Sprintf("field manager %q", vandal))
				scale(s.Size(4, 5))
				barrier(ctx, s)
			}
			framework.VerifyWrites(ctx, s, repairsInARow, ofDeployment(s, mark, mc))
			framework.VerifyWrites(ctx, s, 1, s.Writes(mark, the(mc.Name), audit.Resource("events", "")))
			resize(ctx, s, mc, s.Size(2, 3))
			settled(ctx, s, mc)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonRecovered})
		}).
		TestAlone(t)
}

// rewriteImages makes a policy of the namespace that replaces memcached's image in every Deployment, and returns when the API server
// acts on it. lift removes it, and returns when the API server no longer does; otherwise it is removed at the end of the test.
func rewriteImages(ctx context.Context, s *framework.Scope) (lift func()) {
	s.Helper()
	const image = "memcached:1.6.39-alpine" // the one that the operator sets has a registry
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       deploymentsRule,
				},
			}}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: fmt.Sprintf(
					"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: "+
						"[Object.spec.template.spec.containers{name: %q, image: %q}]}}}}", memcachedContainer, image)},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName:     policy.Name,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(s)},
		},
	}
	acts := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			tried := unowned(s, s.NewName("tried"))
			if err := s.Client.Create(ctx, tried, client.DryRunAll); err != nil {
				return err
			}
			if acts := slices.ContainsFunc(tried.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Image == image }); acts != want {
				return fmt.Errorf("expected the policy to act: %t; last seen: %t", want, acts)
			}
			return nil
		}
	}
	remove := inForceWhen(ctx, s, acts(true), policy, binding)
	return func() {
		remove()
		framework.WaitFor(ctx, s, "a Deployment", acts(false))
	}
}

// memcachedContainer is the name of the container that the operator puts into a pod.
const memcachedContainer = "memcached"
