package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// sentinels make one object of each kind that kube-apiserver's admission goes
// by, of the name, which has everything refused that is labeled with it.
var sentinels = map[string]func(context.Context, admissionregistration.AdmissionregistrationV1Interface, string) error{
	"validatingwebhookconfigurations": func(ctx context.Context, c admissionregistration.AdmissionregistrationV1Interface, name string) error {
		_, err := c.ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: webhookName(name), ClientConfig: nobody(), Rules: rules(), ObjectSelector: labeled(name),
				SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		}, metav1.CreateOptions{})
		return err
	},
	"mutatingwebhookconfigurations": func(ctx context.Context, c admissionregistration.AdmissionregistrationV1Interface, name string) error {
		_, err := c.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: webhookName(name), ClientConfig: nobody(), Rules: rules(), ObjectSelector: labeled(name),
				SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		}, metav1.CreateOptions{})
		return err
	},
	"validatingadmissionpolicies": func(ctx context.Context, c admissionregistration.AdmissionregistrationV1Interface, name string) error {
		if _, err := c.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: constraints(name), Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
			},
		}, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := c.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
		return err
	},
	"mutatingadmissionpolicies": func(ctx context.Context, c admissionregistration.AdmissionregistrationV1Interface, name string) error {
		if _, err := c.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints:   constraints(name),
				MatchConditions:    []admissionregistrationv1.MatchCondition{{Name: "fails", Expression: "1 / 0 == 1"}},
				ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
					ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: "Object{}"},
				}},
			},
		}, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := c.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
		}, metav1.CreateOptions{})
		return err
	},
}

const sentinelLabel = "testbed.example.com/reset"

func webhookName(name string) string { return name + ".testbed.example.com" }

// nobody is where no webhook is served.
func nobody() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")}
}

func labeled(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{sentinelLabel: name}}
}

func rules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
}

func constraints(name string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ObjectSelector: labeled(name),
		ResourceRules:  []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rules()[0]}},
	}
}

// admissionKinds returns the sentinels' kinds among those that were touched. A
// policy counts with its bindings.
func admissionKinds(touched map[string]bool) map[string]bool {
	kinds := map[string]bool{}
	for key := range touched {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, registry), "/")
		if stem, ok := strings.CutSuffix(kind, "policybindings"); ok {
			kind = stem + "policies"
		}
		if sentinels[kind] != nil {
			kinds[kind] = true
		}
	}
	return kinds
}

// admissionForgets returns when kube-apiserver's admission goes by nothing that
// was there before. It keeps what it goes by in memory, follows the changes in
// their order, and those of policies once a second only: so what it takes in
// now is the last. It leaves what it makes.
func (p *Provider) admissionForgets(ctx context.Context, kinds map[string]bool) error {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for kind := range kinds {
		names[kind] = "reset-" + strings.ToLower(rand.Text())
		if err := sentinels[kind](ctx, client.AdmissionregistrationV1(), names[kind]); err != nil {
			return fmt.Errorf("see whether %s are forgotten: %w", kind, err)
		}
	}
	for name := range maps.Values(names) {
		if err := untilRefused(ctx, client, name); err != nil {
			return err
		}
	}
	return nil
}

// untilRefused returns when what is labeled with the name is refused for it.
func untilRefused(ctx context.Context, client kubernetes.Interface, name string) error {
	trial := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "reset", Labels: map[string]string{sentinelLabel: name}}}
	var err error
	for range watch.Poll(ctx, healthPoll) {
		_, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), name) && ctx.Err() == nil {
			return nil
		}
	}
	return fmt.Errorf("kube-apiserver does not see %s; it answered last: %w", name, err)
}
