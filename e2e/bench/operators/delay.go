package operators

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// readyAfter is the annotation by which the nodes of an embedded cluster know how long a pod takes until it is ready.
const readyAfter = "testbed.example.com/ready-after"

// delayPods makes each pod of the namespace take that long until it is ready: a policy adds the annotation, whatever creates the pod. It
// returns when the policy is in force.
func delayPods(ctx context.Context, c client.Client, delay time.Duration) error {
	const name = "slow-pods"
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionv1.Fail),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{
					Expression: fmt.Sprintf("Object{metadata: Object.metadata{annotations: {%q: %q}}}", readyAfter, delay),
				},
			}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	// The API does not report when an API server enforces a policy: only a request shows it.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range watch.Poll(ctx, 100*time.Millisecond) {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "probe-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "memcached"}}},
		}
		// Before there is a default ServiceAccount, pods are refused.
		if err := c.Create(ctx, probe, client.DryRunAll); err == nil && probe.Annotations[readyAfter] != "" {
			return nil
		}
	}
	return context.Cause(ctx)
}
