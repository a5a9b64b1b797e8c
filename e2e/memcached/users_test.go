package memcached

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// assignedUser is the user that the cluster assigns to pods in the feature's namespace, the first of a range as on OpenShift.
const assignedUser = int64(1_000_660_000)

// TestAssignedUsers owns the operator. Admission policies imitate OpenShift, which assigns a user to pods that name none, and refuses pods
// that name one outside the namespace's range.
func TestAssignedUsers(t *testing.T) {
	framework.Given(memcached.Feature("users that the cluster assigns").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(assignUsers), func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		ownOperator(ctx, s)
		return create(ctx, s, s.NewName("cache"), s.Size(1, 2))
	}).
		Assess("refuse pods of memcached's own user", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			degraded(ctx, s, mc, cachev1alpha1.ReasonPodsRefused, "must be in the ranges")
		}).
		Assess("accept pods whose user is left to the cluster, by one flag", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			restart(ctx, s, runner.WithArgs("--omit-run-as-user"))
			settled(ctx, s, mc)
			pods := &corev1.PodList{}
			if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(pods.Items).To(HaveLen(int(*mc.Spec.Size)))
			NewWithT(s).Expect(pods.Items).To(HaveEach(HaveField("Spec.SecurityContext.RunAsUser", HaveValue(Equal(assignedUser)))))
		}).
		TestAlone(t)
}

// assignUsers makes the API server assign users to pods of the feature's namespace, and refuse others.
func assignUsers(ctx context.Context, s *framework.Scope) {
	s.Helper()
	pods := &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		},
	}}}
	here := &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(s)}
	meta := metav1.ObjectMeta{Name: s.Namespace}
	named := "has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser)"
	check := func(ctx context.Context) error {
		without, other := podOf(s, nil), podOf(s, new(int64(1000)))
		if err := s.Client.Create(ctx, without, client.DryRunAll); err != nil {
			return err
		}
		if user := without.Spec.SecurityContext.RunAsUser; user == nil || *user != assignedUser {
			return fmt.Errorf("expected that a pod gets the user %d; last seen: %v", assignedUser, user)
		}
		if err := s.Client.Create(ctx, other, client.DryRunAll); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			return fmt.Errorf("expected that a pod of another user is refused; last seen: %w", err)
		}
		return nil
	}
	inForceWhen(ctx, s, check,
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints:   pods,
			MatchConditions:    []admissionregistrationv1.MatchCondition{{Name: "unnamed", Expression: "!(" + named + ")"}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: fmt.Sprintf(
					"Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: %d}}}", assignedUser)},
			}},
		}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, MatchResources: here,
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: pods,
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("!(%s) || object.spec.securityContext.runAsUser >= %d", named, assignedUser),
				Message:    fmt.Sprintf(".spec.securityContext.runAsUser: must be in the ranges: [%d, %d]", assignedUser, assignedUser+9999),
			}},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, MatchResources: here,
		}},
	)
}

// podOf returns a pod of a user, or of none.
func podOf(s *framework.Scope, user *int64) *corev1.Pod {
	name := s.NewName("pod")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: unowned(s, name).Spec.Template.Spec}
	pod.Spec.SecurityContext.RunAsUser = user
	return pod
}
