package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

const (
	// refusedFor is how long an operator is refused what it asks for, at least.
	refusedFor = 5 * time.Second
	// refusedWrites is how many writes may follow from that for each kind of object that it owns, and the same number for its status. With the
	// back-off of controller-runtime, which starts at five milliseconds, there are about ten attempts.
	refusedWrites = 30
	// reportTime is how long it may take until users can see what the operator is refused.
	reportTime = time.Minute
	// healTime is how long it may take until an operator tries again what it was refused before: about as long as it was refused.
	healTime = 2 * time.Minute
)

// refusalMessage is what the API server says when it refuses what the operator asks for.
const refusalMessage = "refused for a while by the testbed"

// refusal is a copy of the sample for which the operator can create nothing.
type refusal struct {
	object client.Object
	// since is from before there was the object.
	since audit.Mark
	// usual are the texts in the status of a copy that is served.
	usual map[string]bool
	// kinds are those of the objects that a copy owns.
	kinds []schema.GroupVersionKind
	// lift ends it.
	lift func()
}

// RefusalReported checks that the status or an event shows that the API server refuses the operator's requests.
func (c Checks) RefusalReported(ctx context.Context, s *framework.Scope) {
	r := c.refuse(ctx, s)
	framework.WaitFor(ctx, s.Patient(reportTime), r.object.GetName(), func(ctx context.Context) error {
		if report, err := reportOf(ctx, s, r.object, r.usual); err != nil || report != "" {
			return err
		}
		return errors.New("expected its status or a warning to report that the API server refuses what the operator asks for; last seen: neither does")
	})
}

// RefusalHeals checks that a lasting refusal leads to few writes, and that the operator notices when it ends.
func (c Checks) RefusalHeals(ctx context.Context, s *framework.Scope) {
	r := c.refuse(ctx, s)
	select {
	case <-time.After(refusedFor):
	case <-ctx.Done():
	}
	framework.VerifyWrites(ctx, s, refusedWrites*(len(r.kinds)+1), writes(s, r.since))
	r.lift()
	sample := c.sample()
	framework.WaitFor(ctx, s.Patient(healTime), r.object.GetName(), func(ctx context.Context) error {
		belongings, err := belonging(ctx, s, r.object, sample.kinds)
		if err != nil {
			return err
		}
		if missing := without(r.kinds, kindsOf(owned(belongings, r.object))); len(missing) > 0 {
			return fmt.Errorf("expected the operator to create what the API server no longer refuses; last seen: no %s", strings.Join(missing, ", no "))
		}
		return nil
	})
	sample.waitForReady(ctx, s, r.object)
}

// refuse has the API server refuse to create what a copy of the sample owns, creates a copy, and returns when the operator has tried.
func (c Checks) refuse(ctx context.Context, s *framework.Scope) refusal {
	model, children := c.createdWithOwned(ctx, s, "served")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	get(ctx, s, model)
	r := refusal{usual: textsOf(model), kinds: kindsOf(children)}
	c.removeAll(ctx, s, model)
	r.lift = refuseCreation(ctx, s, model, r.kinds)
	r.since = s.Mark()
	r.object = c.create(ctx, s, "lasting", smallest) // its name has no word of trouble, because a status may contain it
	framework.WaitForRequest(ctx, s, framework.RequestInput{
		What:   "an attempt to create what the sample owns",
		Writes: writes(s, r.since),
		Match: func(e *auditv1.Event) bool {
			return e.ResponseStatus != nil && strings.Contains(e.ResponseStatus.Message, refusalMessage)
		},
	})
	return r
}

// refuseCreation has the API server refuse to create objects of the kinds for the operator, in the namespace of an object if it has one. It
// returns when that is in force.
func refuseCreation(ctx context.Context, s *framework.Scope, of client.Object, kinds []schema.GroupVersionKind) (lift func()) {
	var refused []*meta.RESTMapping
	var resources []string
	for _, kind := range kinds {
		mapping, err := s.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		must(s, err)
		refused, resources = append(refused, mapping), append(resources, fmt.Sprintf("%q", mapping.Resource.GroupResource().String()))
	}
	// The API server compares the versions, too, and an operator may use another one than the cluster prefers.
	rules := rulesFor(admissionregistrationv1.Create, refused...)
	for i := range rules {
		rules[i].APIVersions = []string{"*"}
	}
	trial := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: of.GetNamespace(), Name: policyName(of)}}
	if trial.Namespace == "" {
		trial.Namespace = metav1.NamespaceDefault
	}
	rules = append(rules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{corev1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}})
	isOperators := fmt.Sprintf("request.userInfo.username == %q && (request.resource.group == '' ? request.resource.resource : request.resource.resource + '.' + request.resource.group) in [%s]",
		s.Operator.UserName(), strings.Join(resources, ", "))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName(of)},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: rules},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "operator", Expression: fmt.Sprintf("%s || request.name == %q", isOperators, trial.Name),
			}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: refusalMessage, Reason: new(metav1.StatusReasonForbidden)}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(of.GetNamespace())},
		},
	}
	return inForce(ctx, s, func(ctx context.Context) error {
		err := s.Client.Create(ctx, trial.DeepCopy(), client.DryRunAll)
		if err == nil || !apierrors.IsForbidden(err) {
			return fmt.Errorf("expected it to refuse %s; last seen: %w", trial.Name, errors.Join(err, errors.New("it does not")))
		}
		return nil
	}, policy, binding)
}

// kindsOf returns the kinds of objects, each once.
func kindsOf(objects []unstructured.Unstructured) (kinds []schema.GroupVersionKind) {
	for i := range objects {
		if kind := objects[i].GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// without returns the names of the kinds that are not among others.
func without(kinds, others []schema.GroupVersionKind) (names []string) {
	for _, kind := range kinds {
		if !slices.Contains(others, kind) {
			names = append(names, kind.Kind)
		}
	}
	return names
}

// trouble are words with which operators report that something has failed.
var trouble = regexp.MustCompile(`(?i)` + refusalMessage + `|fail|error|refuse|forbid|denied|deny|invalid|unable|cannot|can't|could not|blocked`)

// reportOf returns what the status of an object, or a warning about it, says of something that has failed, or "". usual are the texts that the
// status of an object has for which nothing has failed.
func reportOf(ctx context.Context, s *framework.Scope, object client.Object, usual map[string]bool) (string, error) {
	now := object.DeepCopyObject().(client.Object)
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
		return "", err
	}
	for text := range textsOf(now) {
		if !usual[text] && trouble.MatchString(text) {
			return text, nil
		}
	}
	events := &eventsv1.EventList{}
	if err := s.Client.List(ctx, events, client.InNamespace(object.GetNamespace())); err != nil { // of what has no namespace, in any
		return "", err
	}
	for _, event := range events.Items {
		if event.Regarding.UID == now.GetUID() && event.Type == corev1.EventTypeWarning {
			return event.Note, nil
		}
	}
	return "", nil
}

// textsOf returns all texts in the status of an object, without the types of conditions, which are names such as "Failed".
func textsOf(object client.Object) map[string]bool {
	texts := map[string]bool{}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err == nil {
		collect(content["status"], texts)
	}
	return texts
}

func collect(value any, texts map[string]bool) {
	switch value := value.(type) {
	case string:
		texts[value] = true
	case []any:
		for _, element := range value {
			collect(element, texts)
		}
	case map[string]any:
		for key, element := range value {
			if key != "type" {
				collect(element, texts)
			}
		}
	}
}
