package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

const (
	// turns is how often an autoscaler changes the replicas that the operator has put back, and rewrites how often an object is written whose
	// field a policy changes.
	turns, rewrites = 8, 3
	// looks is how many canaries come and go at most until the operator writes nothing else meanwhile. That is enough for one that contends
	// to make more writes than writesPerTurn.
	looks = 12
	// writesPerTurn is how many writes to an object may follow from one change of it. An operator may write with each reconcile, and each of
	// the pods that come and go can lead to some of these. One that contends for the field never stops.
	writesPerTurn = 20
)

// Autoscaled checks that the operator does not fight an autoscaler: it leaves the replicas of an owned workload alone, or resets them with
// few writes.
func (c Checks) Autoscaled(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "autoscaled")
	children = slices.DeleteFunc(ofApps(children, "Deployment", "StatefulSet"), func(workload unstructured.Unstructured) bool {
		return valueAt(&workload, "/spec/replicas") == int64(0) // for autoscalers, that switches them off
	})
	if len(children) == 0 {
		s.DoesNotApply("the sample owns no Deployment or StatefulSet with replicas")
	}
	var putBack []string
	for i := range children {
		if c.autoscale(ctx, s, &children[i]) {
			putBack = append(putBack, children[i].GetKind())
		}
	}
	if len(putBack) > 0 {
		s.Remark(fmt.Sprintf("the operator puts back the replicas of its %s, so an autoscaler for it can't work", strings.Join(putBack, " and ")))
	}
}

// autoscale sets the replicas of a workload as a HorizontalPodAutoscaler does, again and again as long as the operator puts them back, and
// reports whether it does.
func (c Checks) autoscale(ctx context.Context, s *framework.Scope, workload *unstructured.Unstructured) (putBack bool) {
	var wanted int32
	took := 0
	for range turns {
		since := s.Mark()
		wrote, err := scale(ctx, s, workload, &wanted)
		must(s, err)
		if !wrote {
			break
		}
		took++
		c.verifyUncontested(ctx, s, workload, since)
	}
	return took > 1
}

// scale sets the replicas of a workload, if they differ, through the subresource for that. Without a number that is wanted, it asks for one
// more. It reports whether the replicas differed.
func scale(ctx context.Context, s *framework.Scope, workload client.Object, wanted *int32) (differed bool, err error) {
	var target client.Object = &appsv1.Deployment{}
	if workload.GetObjectKind().GroupVersionKind().Kind == "StatefulSet" {
		target = &appsv1.StatefulSet{}
	}
	target.SetNamespace(workload.GetNamespace())
	target.SetName(workload.GetName())
	err = whileOthersWrite(ctx, s, workload, func(ctx context.Context) error {
		current := &autoscalingv1.Scale{}
		if err := s.Client.SubResource("scale").Get(ctx, target, current); err != nil {
			return err
		}
		if *wanted == 0 {
			*wanted = current.Spec.Replicas + 1
		}
		if differed = current.Spec.Replicas != *wanted; !differed {
			return nil
		}
		current.Spec.Replicas = *wanted
		return s.Client.SubResource("scale").Update(ctx, target, client.WithSubResourceBody(current))
	})
	return differed, err
}

// isAbout passes requests about an object itself or a subresource of it.
func isAbout(s *framework.Scope, object client.Object) audit.Filter {
	resource, name := resourceOf(s, object), object.GetName()
	return func(e *auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource == resource && e.ObjectRef.Name == name
	}
}

// verifyUncontested checks that not many writes to an object follow from its change by another program after the mark. It does not wait until the
// object is ready, which it may never be.
func (c Checks) verifyUncontested(ctx context.Context, s *framework.Scope, object client.Object, since audit.Mark) {
	for range looks {
		last, name := s.Mark(), s.NewName(Canary)
		canary := c.createNamed(ctx, s, name, smallest)
		framework.WaitForRequest(ctx, s, framework.RequestInput{
			What:   "a write about the canary",
			Writes: s.Writes(last, audit.About(name)),
			Match:  func(*auditv1.Event) bool { return true },
		})
		c.remove(ctx, s, canary)
		if writes := written(ctx, s, since, isAbout(s, object)); len(writes) > writesPerTurn {
			s.Fatalf("%s %s: expected at most %d writes after a change by another program; last seen: %d, the last of them:\n%s",
				object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), writesPerTurn, len(writes), audit.Describe(writes[max(0, len(writes)-2):]))
		}
		if len(written(ctx, s, last)) == 0 {
			return
		}
	}
}

// Rewritten checks that the operator does not fight a policy that changes a field of an owned object in each write.
func (c Checks) Rewritten(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "rewritten")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	child, field := rewritable(ctx, s, children)
	if child == nil {
		s.DoesNotApply("nobody can change what the sample owns")
	}
	rewrite(ctx, s, child, field)
	for i := range rewrites {
		since := s.Mark()
		err := s.Client.Patch(ctx, child.DeepCopy(), mergePatch(`{"metadata":{"annotations":{%q:"%d"}}}`, foreign, i))
		must(s, client.IgnoreNotFound(err)) // the operator may be replacing it
		c.verifyUncontested(ctx, s, child, since)
	}
}

// rewritable returns an object with a field that a policy can change, and the change. It prefers fields that are not labels, by which operators
// find what they own.
func rewritable(ctx context.Context, s *framework.Scope, children []unstructured.Unstructured) (*unstructured.Unstructured, operation) {
	for _, ofLabels := range []bool{false, true} {
		for i := range children {
			_, damages := damagesOf(ctx, s, &children[i])
			for _, change := range damages {
				if strings.HasPrefix(change.Path, "/metadata/") != ofLabels {
					continue
				}
				// The changes are possible together, and one of them may not be possible without the others.
				after, err := patched(ctx, s, &children[i], []operation{change}, client.DryRunAll)
				if err == nil && valueAt(after, change.Path) == change.Value {
					return &children[i], change
				}
			}
		}
	}
	return nil, operation{}
}

// rewrite makes a policy that changes a field of an object whenever that is written, and returns when the API server acts on it. The policy is
// deleted when the test is done.
func rewrite(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured, field operation) {
	value := fmt.Sprint(field.Value)
	if text, isText := field.Value.(string); isText {
		value = fmt.Sprintf("%q", text)
	}
	mapping := mappingOf(s, object)
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName(object)},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			FailurePolicy:      new(admissionregistrationv1.Ignore),
			MatchConstraints:   &admissionregistrationv1.MatchResources{ResourceRules: rulesFor(admissionregistrationv1.Update, mapping)},
			MatchConditions:    []admissionregistrationv1.MatchCondition{{Name: "name", Expression: fmt.Sprintf("request.name == %q", object.GetName())}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: fmt.Sprintf("[JSONPatch{op: 'replace', path: %q, value: %s}]", field.Path, value)},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName:     policy.Name,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(object.GetNamespace())},
		},
	}
	inForce(ctx, s, func(ctx context.Context) error {
		tried := object.DeepCopy()
		if err := s.Client.Patch(ctx, tried, mergePatch(`{"metadata":{"annotations":{%q:"tried"}}}`, foreign), client.DryRunAll); err != nil {
			return err
		}
		if is := valueAt(tried, field.Path); is != field.Value {
			return fmt.Errorf("expected the policy to set %s to %v; last seen: %v", field.Path, field.Value, is)
		}
		return nil
	}, policy, binding)
}

// policyName returns the name of what acts on an object, which differs from all others in the cluster.
func policyName(object client.Object) string { return "testbed-" + string(object.GetUID()) }

// onlyNamespace selects a namespace, or whatever has none.
func onlyNamespace(namespace string) *metav1.LabelSelector {
	if namespace == "" {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

// rulesFor returns rules for an operation on the resources.
func rulesFor(operation admissionregistrationv1.OperationType, mappings ...*meta.RESTMapping) (rules []admissionregistrationv1.NamedRuleWithOperations) {
	for _, mapping := range mappings {
		rules = append(rules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{operation},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{mapping.Resource.Group}, APIVersions: []string{mapping.Resource.Version}, Resources: []string{mapping.Resource.Resource},
			},
		}})
	}
	return rules
}

// inForce creates objects that the API server acts on, and returns when check says that it does. They are deleted by lift, or else when the
// test is done.
func inForce(ctx context.Context, s *framework.Scope, check func(context.Context) error, objects ...client.Object) (lift func()) {
	lift = sync.OnceFunc(func() {
		for _, object := range objects {
			if err := client.IgnoreNotFound(s.Client.Delete(context.WithoutCancel(ctx), object)); err != nil {
				s.Errorf("deleting what acts on the sample's objects: %v", err)
			}
		}
	})
	s.Cleanup(lift)
	for _, object := range objects {
		err := s.Client.Create(ctx, object)
		if meta.IsNoMatchError(err) {
			s.Skipf("this cluster has no such policies: %v", err)
		}
		must(s, err)
	}
	framework.WaitFor(ctx, s, "the API server", check)
	return lift
}
