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
	"k8s.io/apimachinery/pkg/types"
	fieldvalidation "k8s.io/apimachinery/pkg/util/validation/field"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// attentive is the setup of a feature with changes that the operator gets no event for: it rechecks them soon.
var attentive = operatorWith(runner.WithArgs("--recheck-interval=1s"))

// TestForeignDeployment owns the operator. A Deployment that has the name that the operator needs, and is somebody else's, is left alone.
func TestForeignDeployment(t *testing.T) {
	type rivals struct {
		unowned *appsv1.Deployment
		mc      *cachev1alpha1.Memcached
		since   audit.Mark // from before there is a Memcached
	}
	feature := memcached.Feature("stranger").
		WithLabel("contract", "5").
		WithLabel("disruptive", "operator").
		Setup(attentive)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) rivals {
		r := rivals{unowned: unowned(s, s.NewName("cache"))}
		add(ctx, s, r.unowned)
		framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(r.unowned), *r.unowned.Spec.Replicas)
		r.since = s.Mark()
		r.mc = create(ctx, s, r.unowned.Name, s.Size(1, 2))
		return r
	}).
		Assess("is left alone, and reported", func(ctx context.Context, s *framework.Scope, _ rivals) { portable.ForeignDeployment(ctx, s) }).
		Assess("once", func(ctx context.Context, s *framework.Scope, r rivals) {
			degraded(ctx, s, r.mc, cachev1alpha1.ReasonNameTaken, "does not belong to this Memcached")
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(r.since, the(r.mc.Name), audit.Resource("deployments", ""), audit.Not(creates)))
			framework.VerifyWrites(ctx, s, 1, s.Writes(r.since, the(r.mc.Name), audit.Resource("memcacheds", "status")))
			framework.VerifyWrites(ctx, s, 1, s.Writes(r.since, the(r.mc.Name), audit.Resource("events", "")))
		}).
		Assess("and when it is gone, the name is the Memcached's", func(ctx context.Context, s *framework.Scope, r rivals) {
			remove(ctx, s, r.unowned)
			framework.WaitForObject(ctx, s, deploymentOf(r.mc), HaveField("OwnerReferences", ConsistOf(HaveField("UID", r.mc.UID))))
			settled(ctx, s, r.mc)
			framework.WaitForEvent(ctx, s, r.mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonRecovered})
		}).
		Assess("so is a copy of a Memcached's Deployment that the operator did not create", func(ctx context.Context, s *framework.Scope, r rivals) {
			leftAlone(ctx, s, copyOf(ctx, s, deploymentOf(r.mc), "gone"), "kubectl-create")
		}).
		Assess("and one whose selector has the UID of a Memcached that exists", func(ctx context.Context, s *framework.Scope, r rivals) {
			leftAlone(ctx, s, copyOf(ctx, s, deploymentOf(r.mc), r.mc.UID), cachev1alpha1.FieldManager)
		}).
		TestAlone(t)
}

// copyOf returns a copy of a Deployment under another name, without an owner. It selects its pods by a UID.
func copyOf(ctx context.Context, s *framework.Scope, deployment *appsv1.Deployment, uid types.UID) *appsv1.Deployment {
	s.Helper()
	framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
	copied := withoutServerFields(deployment)
	copied.Name = s.NewName("cache")
	copied.Spec.Selector.MatchLabels[cachev1alpha1.LabelMemcachedUID] = string(uid)
	for _, labels := range []map[string]string{copied.Labels, copied.Spec.Template.Labels} {
		labels["app.kubernetes.io/instance"] = copied.Name
		labels[cachev1alpha1.LabelMemcachedUID] = string(uid)
	}
	return copied
}

// leftAlone creates a Deployment as a field manager does, and waits until a Memcached of its name reports that the name is taken.
func leftAlone(ctx context.Context, s *framework.Scope, deployment *appsv1.Deployment, manager client.FieldOwner) {
	s.Helper()
	if err := s.Client.Create(ctx, deployment, manager); err != nil {
		s.Fatalf("creating the Deployment %s: %v", deployment.Name, err)
	}
	mc := create(ctx, s, deployment.Name, s.Size(1, 2))
	degraded(ctx, s, mc, cachev1alpha1.ReasonNameTaken, "")
	framework.WaitForObject(ctx, s, deploymentOf(mc), And(HaveField("UID", deployment.UID), HaveField("OwnerReferences", BeEmpty())))
	remove(ctx, s, mc)
	remove(ctx, s, deployment)
}

// TestRefusals owns the operator, for its recheck interval. What a namespace does not allow shows in Degraded with the
// API server's error message, and recovers when it is allowed.
func TestRefusals(t *testing.T) {
	quota := func(resource corev1.ResourceName) framework.Step {
		return func(ctx context.Context, s *framework.Scope) {
			full := inNamespace(s, namespaceWithout(ctx, s, resource))
			mc := create(ctx, full, s.NewName("cache"), s.Size(1, 2))
			degraded(ctx, s, mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota")
			remove(ctx, s, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: full.Namespace, Name: full.Namespace}})
			settled(ctx, s, mc)
		}
	}
	memcached.Feature("refusals").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(attentive).
		Assess("a quota of Deployments", portable.Quota).
		Assess("a rollout that exceeds its deadline", portable.RolloutDeadline).
		Assess("a quota of pods", quota("pods")).
		Assess("a LimitRange", func(ctx context.Context, s *framework.Scope) {
			limit := &corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("small")},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
				}}},
			}
			add(ctx, s, limit)
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			degraded(ctx, s, mc, cachev1alpha1.ReasonPodsRefused, "maximum memory usage per Container is 1Mi")
			remove(ctx, s, limit)
			settled(ctx, s, mc)
		}).
		Assess("the Pod Security level", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`) // a field that is not the operator's
			framework.WaitForConditions(ctx, s, mc, framework.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonPodsRefused, Message: "violates PodSecurity",
			})
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"hostNetwork":null}}}}`)
			settled(ctx, s, mc)
		}).
		Assess("a policy", func(ctx context.Context, s *framework.Scope) {
			lift := forbidDeployments(ctx, s)
			mc := create(ctx, s, s.NewName("policy"), s.Size(1, 2))
			degraded(ctx, s, mc, cachev1alpha1.ReasonForbidden, "no caches here")
			lift()
			settled(ctx, s, mc)
		}).
		Assess("a webhook that objects to a field", func(ctx context.Context, s *framework.Scope) {
			s.NeedsSimulation("a webhook of the test's can't be reached from it")
			lift := objectToDeployments(ctx, s)
			mc := create(ctx, s, s.NewName("webhook"), s.Size(1, 2))
			degraded(ctx, s, mc, cachev1alpha1.ReasonInvalid, "spec.replicas: Invalid value: 1: no caches here")
			lift()
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}

// TestForeignWebhookDown owns the operator, for its recheck interval. While the webhook of another program does not respond, the API
// server answers every write of a Deployment with a server error. The status is about the current spec nevertheless, and says why.
func TestForeignWebhookDown(t *testing.T) {
	const message = `failed calling webhook "policy.example.com"`
	feature := memcached.Feature("another program's webhook is down").
		WithLabel("contract", "1").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(attentive)
	type outage struct {
		served, shrunk, created *cachev1alpha1.Memcached
		lift                    func()
	}
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) *outage {
		o := &outage{served: create(ctx, s, s.NewName("served"), s.Size(1, 3)), shrunk: create(ctx, s, s.NewName("shrunk"), s.Size(2, 3))}
		settled(ctx, s, o.served)
		settled(ctx, s, o.shrunk)
		o.lift = failDeployments(ctx, s)
		return o
	}).
		Assess("and a Memcached that grows is no longer Available", func(ctx context.Context, s *framework.Scope, o *outage) {
			resize(ctx, s, o.served, s.Size(4, 5))
			degraded(ctx, s, o.served, cachev1alpha1.ReasonWriteFailed, message)
		}).
		Assess("one that shrinks still is", func(ctx context.Context, s *framework.Scope, o *outage) {
			resize(ctx, s, o.shrunk, single)
			framework.WaitForConditions(ctx, s, o.shrunk, available, framework.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonWriteFailed, Message: message,
			})
		}).
		Assess("a new one has a status", func(ctx context.Context, s *framework.Scope, o *outage) {
			o.created = create(ctx, s, s.NewName("created"), s.Size(1, 2))
			degraded(ctx, s, o.created, cachev1alpha1.ReasonWriteFailed, message)
		}).
		Assess("and all of them recover after it", func(ctx context.Context, s *framework.Scope, o *outage) {
			o.lift()
			for _, mc := range []*cachev1alpha1.Memcached{o.served, o.shrunk, o.created} {
				settled(ctx, s, mc)
				framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeNormal, Reason: cachev1alpha1.ReasonRecovered})
			}
		}).
		TestAlone(t)
}

// shortestWebhook is how many seconds the API server waits for a webhook at least.
const shortestWebhook int32 = 1

// failDeployments makes the API server fail to write the namespace's Deployments, because it can't reach a webhook that has to allow
// them. It is lifted by lift, or else at the end of the test.
func failDeployments(ctx context.Context, s *framework.Scope) (lift func()) {
	s.Helper()
	port := s.Port()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("policy")},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}}, // no pods
	}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "policy.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: service.Namespace, Name: service.Name, Port: &port},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       deploymentsRule,
			}},
			NamespaceSelector:       onlyNamespace(s),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			TimeoutSeconds:          new(shortestWebhook),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	return inForce(ctx, s, "failed calling webhook", service, configuration)
}

// forbidDeployments makes a policy of the namespace that forbids Deployments, and returns when the API server acts on it. It is
// lifted by lift, or else at the end of the test.
func forbidDeployments(ctx context.Context, s *framework.Scope) (lift func()) {
	s.Helper()
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
	return inForce(ctx, s, "no caches here", policy, binding)
}

// objectToDeployments makes a webhook of the namespace that calls a field of every Deployment invalid, as ours calls those of a
// Memcached. It is lifted by lift, or else at the end of the test.
func objectToDeployments(ctx context.Context, s *framework.Scope) (lift func()) {
	s.Helper()
	webhook := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		objection := fieldvalidation.Invalid(fieldvalidation.NewPath("spec", "replicas"), 1, "no caches here")
		err := apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), request.Name, fieldvalidation.ErrorList{objection})
		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &err.ErrStatus}}
	})})
	s.Cleanup(webhook.Close)
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
	return inForce(ctx, s, "no caches here", configuration)
}

var deploymentsRule = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}

// onlyNamespace selects the feature's namespace.
func onlyNamespace(s *framework.Scope) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
}

// inForce creates what refuses Deployments, and returns when the API server refuses one with the words. It is lifted by lift, or
// else at the end of the test.
func inForce(ctx context.Context, s *framework.Scope, words string, objects ...client.Object) (lift func()) {
	s.Helper()
	tried := unowned(s, s.NewName("tried"))
	return inForceWhen(ctx, s, func(ctx context.Context) error {
		err := s.Client.Create(ctx, tried.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), words) {
			return fmt.Errorf("expected it to be refused with %q; last seen: %w", words, cmp.Or(err, errors.New("it was taken")))
		}
		return nil
	}, objects...)
}

// inForceWhen creates objects that the API server acts on, and returns when check says that it does. They are deleted by lift, or else
// at the end of the test.
func inForceWhen(ctx context.Context, s *framework.Scope, check func(context.Context) error, objects ...client.Object) (lift func()) {
	s.Helper()
	lift = sync.OnceFunc(func() {
		for _, object := range objects {
			if err := s.Client.Delete(context.WithoutCancel(ctx), object); err != nil {
				s.Errorf("deleting what acts on Deployments: %v", err)
			}
		}
	})
	for _, object := range objects {
		add(ctx, s, object)
	}
	s.Cleanup(lift)
	framework.WaitFor(ctx, s, "a Deployment", check)
	return lift
}

// TestLaxDefinition owns the cluster. Where the definition is laxer than ours, an invalid size is reported, too; and where it was
// laxer, a name that is no longer valid does no harm.
func TestLaxDefinition(t *testing.T) {
	memcached.Feature("a laxer definition").
		WithLabel("contract", "8").
		WithLabel("disruptive", "cluster").
		Assess("lets a size pass that the operator refuses", func(ctx context.Context, s *framework.Scope) {
			mc := named(s, s.NewName("cache"))
			mc.Spec.Size = new(int32(smallest - 1))
			tighten := createDespite(ctx, s, mc, func(schema *apiextensionsv1.JSONSchemaProps) {
				size := schema.Properties["spec"].Properties["size"]
				size.Minimum = nil
				schema.Properties["spec"].Properties["size"] = size
			})
			s.Cleanup(func() {
				remove(context.WithoutCancel(ctx), s, mc) // before the definition calls it illegal
				tighten()
			})
			degraded(ctx, s, mc, cachev1alpha1.ReasonInvalid, "spec.size is 0")
			resize(ctx, s, mc, s.Size(1, 2))
			settled(ctx, s, mc)
		}).
		Assess("let a name pass that still has a status, and can be deleted", func(ctx context.Context, s *framework.Scope) {
			mc := named(s, strings.Repeat("a", 64))
			mc.Finalizers = []string{"example.com/kept"}
			createDespite(ctx, s, mc, func(schema *apiextensionsv1.JSONSchemaProps) { schema.XValidations = nil })()
			another := named(s, strings.Repeat("b", 64))
			framework.WaitFor(ctx, s, "that such a name is refused again", func(ctx context.Context) error {
				err := s.Client.Create(ctx, another, client.DryRunAll)
				if !apierrors.IsInvalid(err) {
					return fmt.Errorf("last seen: %w", cmp.Or(err, errors.New("it was taken")))
				}
				return nil
			})
			degraded(ctx, s, mc, cachev1alpha1.ReasonInvalid, "must be no more than 63")
			remove(ctx, s, mc)
			if err := s.Client.Patch(ctx, mc, rawMergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
				s.Fatalf("removing the finalizer of a Memcached whose name is longer than the definition allows: %v", err)
			}
			framework.WaitForDeletion(ctx, s, mc)
		}).
		TestAlone(t)
}

// TestLongName shows that the message of a refusal has no part that differs between two attempts. The API server generates a name for
// each pod that it refuses, and cuts long ones, so that they have no dash before the generated part.
func TestLongName(t *testing.T) {
	memcached.Feature("a long name whose pods are refused").
		WithLabel("contract", "6").
		WithLabel("contract", "8").
		Assess("is reported without the generated part of the pods' names", func(ctx context.Context, s *framework.Scope) {
			full := inNamespace(s, namespaceWithout(ctx, s, corev1.ResourcePods))
			for _, length := range []int{20, 50, 63} {
				mc := named(full, s.NewName("cache")+"-")
				mc.Name += strings.Repeat("n", length-len(mc.Name))
				mc.Spec.Size = new(s.Size(2, 3))
				add(ctx, full, mc)
				degraded(ctx, full, mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota")
				replicaSets := &appsv1.ReplicaSetList{}
				if err := s.Client.List(ctx, replicaSets, client.InNamespace(full.Namespace), client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(mc.UID)}); err != nil || len(replicaSets.Items) != 1 {
					s.Fatalf("listing the ReplicaSet of the Memcached %s: %d found, %v", mc.Name, len(replicaSets.Items), err)
				}
				generated := replicaSets.Items[0].Name + "-"
				generated = generated[:min(len(generated), 58)]
				framework.WaitForConditions(ctx, full, mc, framework.Condition{
					Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Message: fmt.Sprintf("pods %q is forbidden", generated),
				})
			}
		}).
		Test(t)
}

// createDespite creates a Memcached that the definition refuses, under a laxer one, and returns what puts the definition back.
func createDespite(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, edit func(*apiextensionsv1.JSONSchemaProps)) (tighten func()) {
	s.Helper()
	tighten = loosen(ctx, s, edit)
	// The API server takes a moment to act on it.
	framework.WaitFor(ctx, s, "that the laxer definition lets "+mc.Name+" pass", func(ctx context.Context) error {
		return s.Client.Create(ctx, mc)
	})
	return tighten
}

// loosen edits the definition's schema, and returns what puts it back; the end of the test does so, too.
func loosen(ctx context.Context, s *framework.Scope, edit func(*apiextensionsv1.JSONSchemaProps)) (tighten func()) {
	s.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
	framework.WaitForObject(ctx, s, definition, Not(BeNil()))
	lax := definition.DeepCopy()
	edit(lax.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err := s.Client.Patch(ctx, lax, client.MergeFrom(definition)); err != nil {
		s.Fatal(err)
	}
	tighten = sync.OnceFunc(func() {
		before := lax.DeepCopy()
		lax.Spec = definition.Spec
		if err := s.Client.Patch(context.WithoutCancel(ctx), lax, client.MergeFrom(before)); err != nil {
			s.Errorf("putting the definition back: %v", err)
		}
	})
	s.Cleanup(tighten)
	return tighten
}

// TestMissingPermissions owns the operator. Without its permissions it reports what is forbidden, and it goes on when it has them again.
func TestMissingPermissions(t *testing.T) {
	feature := memcached.Feature("missing permissions").
		WithLabel("contract", "8").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(attentive)
	framework.Given(feature, created(1, 2)).
		Assess("revoked make it Degraded, and restored let it recover", func(ctx context.Context, s *framework.Scope, served *cachev1alpha1.Memcached) {
			settled(ctx, s, served)
			giveBack := revoke(ctx, s, "apps", "deployments", "create", "patch")
			resize(ctx, s, served, s.Size(3, 5))
			refused := create(ctx, s, s.NewName("refused"), s.Size(1, 2))
			degraded(ctx, s, refused, cachev1alpha1.ReasonForbidden, `cannot create resource "deployments"`)
			degraded(ctx, s, served, cachev1alpha1.ReasonForbidden, `cannot patch resource "deployments"`)
			giveBack()
			settled(ctx, s, served)
			settled(ctx, s, refused)
		}).
		Assess("revoked again are reported in the same event", func(ctx context.Context, s *framework.Scope, served *cachev1alpha1.Memcached) {
			giveBack := revoke(ctx, s, "apps", "deployments", "patch")
			resize(ctx, s, served, s.Size(1, 5))
			framework.WaitForEvent(ctx, s, served, framework.Event{
				Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonForbidden, Note: `cannot patch resource "deployments"`, Times: 2,
			})
			giveBack()
			settled(ctx, s, served)
		}).
		Assess("and other ones in another event", func(ctx context.Context, s *framework.Scope, served *cachev1alpha1.Memcached) {
			giveBack := revoke(ctx, s, "apps", "deployments", "create")
			remove(ctx, s, deploymentOf(served))
			framework.WaitForEvent(ctx, s, served, framework.Event{
				Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonForbidden, Note: `cannot create resource "deployments"`,
			})
			giveBack()
			settled(ctx, s, served)
		}).
		TestAlone(t)
}

// managerRole is the ClusterRole that controller-gen makes of the operator's markers.
const managerRole = "operator-manager-role"

// revoke takes the verbs of a resource off the operator, and returns when the API server acts on it. The operator gets them
// back by giveBack, or else at the end of the test.
func revoke(ctx context.Context, s *framework.Scope, group, resource string, verbs ...string) (giveBack func()) {
	s.Helper()
	before := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: managerRole}}
	framework.WaitForObject(ctx, s, before, Not(BeNil()))
	after := before.DeepCopy()
	for i, rule := range after.Rules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) {
			after.Rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
		}
	}
	after.Rules = slices.DeleteFunc(after.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
	swap := func(from, to *rbacv1.ClusterRole) {
		s.Helper()
		if err := s.Client.Patch(context.WithoutCancel(ctx), to.DeepCopy(), client.MergeFrom(from)); err != nil {
			s.Fatalf("changing the ClusterRole %s: %v", managerRole, err)
		}
	}
	swap(before, after)
	giveBack = sync.OnceFunc(func() { swap(after, before) })
	s.Cleanup(giveBack)
	plural, subresource, _ := strings.Cut(resource, "/")
	for _, verb := range verbs {
		untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{
			User: s.Operator.UserName(),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: group, Resource: plural, Subresource: subresource, Verb: verb, Namespace: s.Namespace,
			},
		}, false)
	}
	return giveBack
}

// untilJudged asks the API server again and again until a user may, or may not, do something. It learns of a changed role by a
// watch of its own, which nobody else can watch.
func untilJudged(ctx context.Context, s *framework.Scope, request authorizationv1.SubjectAccessReviewSpec, allowed bool) {
	s.Helper()
	var what string
	if resource := request.ResourceAttributes; resource != nil {
		what = resource.Verb + " " + resource.Resource
	} else {
		what = request.NonResourceAttributes.Verb + " " + request.NonResourceAttributes.Path
	}
	modal := map[bool]string{true: "may", false: "may not"}
	framework.WaitFor(ctx, s, request.User, func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: request}
		err := s.Client.Create(ctx, review)
		if err == nil && review.Status.Allowed != allowed {
			err = fmt.Errorf("expected that it %s %s; last seen: it %s", modal[allowed], what, modal[!allowed])
		}
		return err
	})
}

// degraded waits until the Memcached is Degraded for the reason and not Available, and until a warning says the same.
func degraded(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, reason, message string) {
	s.Helper()
	framework.WaitForConditions(ctx, s, mc,
		framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message},
		framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse},
	)
	framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: message})
}

// unowned returns a Deployment without an owner.
func unowned(s *framework.Scope, name string) *appsv1.Deployment {
	labels := map[string]string{"app": "unowned"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(s.Size(1, 3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "unowned", Image: "registry.k8s.io/pause:3.10",
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
