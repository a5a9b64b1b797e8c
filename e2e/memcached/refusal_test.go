package memcached

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fieldvalidation "k8s.io/apimachinery/pkg/util/validation/field"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// attentive is the setup of a feature that mends what the operator is not told of: it looks again soon.
var attentive = operatorWith(runner.WithArgs("--recheck-interval=1s"))

// TestStranger owns the operator. A Deployment that has the name that the operator needs, and is somebody else's, is left alone.
func TestStranger(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("stranger").
		WithLabel("contract", "5").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(attentive)).
		Assess("is left alone, and told of once", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			strange := stranger(s, "cache")
			add(ctx, t, s, strange)
			s.Expect(t).DeploymentSize(ctx, client.ObjectKeyFromObject(strange), 2)
			mark := s.Mark(t)
			mc = create(ctx, t, s, "cache", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonNameTaken, "does not belong to this Memcached")
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary), audit.Resource("deployments", ""), audit.Not(creates)))
			s.Expect(t).AtMost(1, s.Writes(mark, notThe(canary), audit.Resource("memcacheds", "status")))
			s.Expect(t).AtMost(1, s.Writes(mark, notThe(canary), audit.Resource("events", "")))
			s.Expect(t).Object(ctx, deploymentOf(mc), And(
				HaveField("UID", strange.UID), HaveField("Generation", strange.Generation), HaveField("Labels", strange.Labels), HaveField("OwnerReferences", BeEmpty())))
		})).
		Assess("and when it is gone, the name is the Memcached's", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			remove(ctx, t, s, deploymentOf(mc))
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("OwnerReferences", ConsistOf(HaveField("UID", mc.UID))))
			settled(ctx, t, s, mc)
			s.Expect(t).Event(ctx, mc, expect.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonRecovered})
		})).
		Assess("so is what another Memcached of that name has left", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			orphan := deploymentOf(mc)
			s.Expect(t).Object(ctx, orphan, Not(BeNil()))
			remove(ctx, t, s, mc, client.PropagationPolicy(metav1.DeletePropagationOrphan))
			s.Expect(t).Gone(ctx, mc)
			mc = create(ctx, t, s, "cache", 2)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonNameTaken, "")
			s.Expect(t).Object(ctx, deploymentOf(mc), And(HaveField("UID", orphan.UID), HaveField("OwnerReferences", BeEmpty())))
		})).
		Feature())
}

// TestRefusals owns the operator, for its recheck interval. What a namespace does not allow shows in Degraded in the API
// server's words, and heals when it is allowed.
func TestRefusals(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("refusals").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(attentive)).
		Assess("a quota of Deployments", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			full := *s
			full.Namespace = namespaceWithout(ctx, t, s, "count/deployments.apps")
			mc := create(ctx, t, &full, "cache", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota")
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: full.Namespace, Name: "nothing"}}
			remove(ctx, t, s, quota)
			settled(ctx, t, s, mc)
		})).
		Assess("a quota of pods", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			full := *s
			full.Namespace = namespaceWithout(ctx, t, s, "pods")
			mc := create(ctx, t, &full, "cache", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota")
			remove(ctx, t, s, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: full.Namespace, Name: "nothing"}})
			settled(ctx, t, s, mc)
		})).
		Assess("a LimitRange", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			limit := &corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "small"},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
				}}},
			}
			add(ctx, t, s, limit)
			mc = create(ctx, t, s, "cache", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonPodsRefused, "maximum memory usage per Container is 1Mi")
			remove(ctx, t, s, limit)
			settled(ctx, t, s, mc)
		})).
		Assess("the Pod Security level", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			damage(ctx, t, s, mc, `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`) // a field that is not the operator's
			s.Expect(t).Condition(ctx, mc, expect.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsRefused, Message: "violates PodSecurity",
			})
			damage(ctx, t, s, mc, `{"spec":{"template":{"spec":{"hostNetwork":null}}}}`)
			settled(ctx, t, s, mc)
		})).
		Assess("a policy", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			lift := forbidDeployments(ctx, t, s)
			mc := create(ctx, t, s, "policy", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonForbidden, "no caches here")
			lift()
			settled(ctx, t, s, mc)
		})).
		Assess("a webhook that objects to a field", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsSimulation(t, "a webhook of the test's can't be reached from it")
			lift := objectToDeployments(ctx, t, s)
			mc := create(ctx, t, s, "webhook", 1)
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonInvalid, "spec.replicas: Invalid value: 1: no caches here")
			lift()
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// forbidDeployments makes a policy of the namespace that forbids Deployments, and returns when the API server acts on it. It is
// lifted by lift, or else at the end of the test.
func forbidDeployments(ctx context.Context, t *testing.T, s *suite.Scope) (lift func()) {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       deploymentsRule,
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no caches here", Reason: new(metav1.StatusReasonInvalid)}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(s)},
		},
	}
	return inForce(ctx, t, s, "no caches here", policy, binding)
}

// objectToDeployments makes a webhook of the namespace that calls a field of every Deployment invalid, as ours calls those of a
// Memcached. It is lifted by lift, or else at the end of the test.
func objectToDeployments(ctx context.Context, t *testing.T, s *suite.Scope) (lift func()) {
	t.Helper()
	webhook := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		objection := fieldvalidation.Invalid(fieldvalidation.NewPath("spec", "replicas"), 1, "no caches here")
		err := apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), request.Name, fieldvalidation.ErrorList{objection})
		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &err.ErrStatus}}
	})})
	t.Cleanup(webhook.Close)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "somebody.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      new(webhook.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       deploymentsRule,
			}},
			NamespaceSelector:       onlyNamespace(s),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	return inForce(ctx, t, s, "no caches here", configuration)
}

var deploymentsRule = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}

// onlyNamespace selects the feature's namespace.
func onlyNamespace(s *suite.Scope) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
}

// inForce creates what refuses Deployments, and returns when the API server refuses one with the words. It is lifted by lift, or
// else at the end of the test.
func inForce(ctx context.Context, t *testing.T, s *suite.Scope, words string, objects ...client.Object) (lift func()) {
	t.Helper()
	lift = sync.OnceFunc(func() {
		for _, object := range objects {
			if err := s.Client.Delete(context.WithoutCancel(ctx), object); err != nil {
				t.Errorf("deleting what refuses Deployments: %v", err)
			}
		}
	})
	for _, object := range objects {
		add(ctx, t, s, object)
	}
	t.Cleanup(lift)
	s.Expect(t).Until(ctx, "a Deployment", func(ctx context.Context) error {
		err := s.Client.Create(ctx, stranger(s, "tried"), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), words) {
			return fmt.Errorf("expected it to be refused with %q; last seen: %w", words, cmp.Or(err, errors.New("it was taken")))
		}
		return nil
	})
	return lift
}

// TestLaxDefinition owns the cluster. Where the definition is laxer than ours, a size that cannot be is told of, too; and where it
// was laxer, a name that cannot be any more is in nobody's way.
func TestLaxDefinition(t *testing.T) {
	memcached.TestAlone(t, features.New("a laxer definition").
		WithLabel("contract", "8").
		WithLabel("disruptive", "cluster").
		Assess("lets a size pass that the operator refuses", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "cache")
			mc.Spec.Size = new(int32(0))
			tighten := createDespite(ctx, t, s, mc, func(schema *apiextensionsv1.JSONSchemaProps) {
				size := schema.Properties["spec"].Properties["size"]
				size.Minimum = nil
				schema.Properties["spec"].Properties["size"] = size
			})
			t.Cleanup(func() {
				remove(context.WithoutCancel(ctx), t, s, mc) // before the definition calls it illegal
				tighten()
			})
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonInvalid, "spec.size is 0")
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(1)) })
			settled(ctx, t, s, mc)
		})).
		Assess("let a name pass that still has a status, and can be deleted", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, strings.Repeat("a", 64))
			mc.Finalizers = []string{"example.com/kept"}
			createDespite(ctx, t, s, mc, func(schema *apiextensionsv1.JSONSchemaProps) { schema.XValidations = nil })()
			another := named(s, strings.Repeat("b", 64))
			s.Expect(t).Until(ctx, "that such a name is refused again", func(ctx context.Context) error {
				err := s.Client.Create(ctx, another, client.DryRunAll)
				if !apierrors.IsInvalid(err) {
					return fmt.Errorf("last seen: %w", cmp.Or(err, errors.New("it was taken")))
				}
				return nil
			})
			degraded(ctx, t, s, mc, cachev1alpha1.ReasonInvalid, "must be no more than 63")
			remove(ctx, t, s, mc)
			if err := s.Client.Patch(ctx, mc, rawMergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
				t.Errorf("removing the finalizer of a Memcached whose name is longer than the definition allows: %v", err)
			}
			s.Expect(t).Gone(ctx, mc)
		})).
		Feature())
}

// createDespite creates a Memcached that the definition refuses, under a laxer one, and returns what puts the definition back.
func createDespite(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, edit func(*apiextensionsv1.JSONSchemaProps)) (tighten func()) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
	s.Expect(t).Object(ctx, definition, Not(BeNil()))
	lax := definition.DeepCopy()
	edit(lax.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err := s.Client.Patch(ctx, lax, client.MergeFrom(definition)); err != nil {
		t.Fatal(err)
	}
	tighten = sync.OnceFunc(func() {
		before := lax.DeepCopy()
		lax.Spec = definition.Spec
		if err := s.Client.Patch(context.WithoutCancel(ctx), lax, client.MergeFrom(before)); err != nil {
			t.Errorf("putting the definition back: %v", err)
		}
	})
	t.Cleanup(tighten)
	// The API server takes a moment to act on it.
	s.Expect(t).Until(ctx, "that the laxer definition lets "+mc.Name+" pass", func(ctx context.Context) error {
		return s.Client.Create(ctx, mc)
	})
	return tighten
}

// TestRights owns the operator. Without its rights it says so, and it goes on when it has them again.
func TestRights(t *testing.T) {
	var served *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("rights").
		WithLabel("contract", "8").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(attentive)).
		Assess("revoked make it Degraded, restored they mend it", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			served = create(ctx, t, s, "served", 1)
			settled(ctx, t, s, served)
			giveBack := revoke(ctx, t, s, "apps", "deployments", "create", "patch")
			change(ctx, t, s, served, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			refused := create(ctx, t, s, "refused", 1)
			degraded(ctx, t, s, refused, cachev1alpha1.ReasonForbidden, `cannot create resource "deployments"`)
			degraded(ctx, t, s, served, cachev1alpha1.ReasonForbidden, `cannot patch resource "deployments"`)
			giveBack()
			settled(ctx, t, s, served)
			settled(ctx, t, s, refused)
		})).
		Assess("revoked again are told of in the same event", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			giveBack := revoke(ctx, t, s, "apps", "deployments", "patch")
			change(ctx, t, s, served, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(1)) })
			s.Expect(t).Event(ctx, served, expect.Event{
				Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonForbidden, Note: `cannot patch resource "deployments"`, Times: 2,
			})
			giveBack()
			settled(ctx, t, s, served)
		})).
		Feature())
}

// managerRole is the ClusterRole that controller-gen makes of the operator's markers.
const managerRole = "operator-manager-role"

// revoke takes the verbs of a resource off the operator, and returns when the API server acts on it. The operator gets them
// back by giveBack, or else at the end of the test.
func revoke(ctx context.Context, t *testing.T, s *suite.Scope, group, resource string, verbs ...string) (giveBack func()) {
	t.Helper()
	before := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: managerRole}}
	s.Expect(t).Object(ctx, before, Not(BeNil()))
	after := before.DeepCopy()
	for i, rule := range after.Rules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) {
			after.Rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
		}
	}
	swap := func(from, to *rbacv1.ClusterRole) {
		t.Helper()
		if err := s.Client.Patch(context.WithoutCancel(ctx), to.DeepCopy(), client.MergeFrom(from)); err != nil {
			t.Fatalf("changing the ClusterRole %s: %v", managerRole, err)
		}
	}
	swap(before, after)
	giveBack = sync.OnceFunc(func() { swap(after, before) })
	t.Cleanup(giveBack)
	for _, verb := range verbs {
		untilJudged(ctx, t, s, authorizationv1.SubjectAccessReviewSpec{
			User:               s.Operator.UserName(),
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb, Namespace: s.Namespace},
		}, false)
	}
	return giveBack
}

// untilJudged asks the API server again and again until a user may, or may not, do something. It learns of a changed role by a
// watch of its own, which nobody else can watch.
func untilJudged(ctx context.Context, t *testing.T, s *suite.Scope, request authorizationv1.SubjectAccessReviewSpec, allowed bool) {
	t.Helper()
	var what string
	if resource := request.ResourceAttributes; resource != nil {
		what = resource.Verb + " " + resource.Resource
	} else {
		what = request.NonResourceAttributes.Verb + " " + request.NonResourceAttributes.Path
	}
	modal := map[bool]string{true: "may", false: "may not"}
	s.Expect(t).Until(ctx, request.User, func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: request}
		err := s.Client.Create(ctx, review)
		if err == nil && review.Status.Allowed != allowed {
			err = fmt.Errorf("expected that it %s %s; last seen: it %s", modal[allowed], what, modal[!allowed])
		}
		return err
	})
}

// degraded waits until the Memcached is Degraded for the reason and not Available, and until a warning says the same.
func degraded(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, reason, message string) {
	t.Helper()
	s.Expect(t).Condition(ctx, mc,
		expect.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message},
		expect.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse},
	)
	s.Expect(t).Event(ctx, mc, expect.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: message})
}

// stranger is a Deployment that is nobody's.
func stranger(s *suite.Scope, name string) *appsv1.Deployment {
	labels := map[string]string{"app": "stranger"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "stranger", Image: "registry.k8s.io/pause:3.10",
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// creates passes requests to create something.
func creates(e *auditv1.Event) bool { return e.Verb == "create" }
