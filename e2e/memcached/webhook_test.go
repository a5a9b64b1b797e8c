package memcached

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// withWebhooks is a step that needs webhooks which are called.
func withWebhooks(step framework.Step) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		if !s.Webhooks {
			s.Skip("the API server of this cluster can't call webhooks of a process on this machine")
		}
		step(ctx, s)
	}
}

func TestRequestedBy(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationRequestedBy
	memcached.Feature("who asked").
		WithLabel("contract", "admission").
		Assess("is recorded, whatever the request says", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := named(s, "cache")
			mc.Annotations = map[string]string{annotation: "somebody-else"}
			jane := as(s, "jane")
			if err := jane.Create(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Annotations", HaveKeyWithValue(annotation, "jane")))
		})).
		Assess("and nobody can change it", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			for _, value := range []string{`"somebody-else"`, `null`, `""`} {
				mc := named(s, "cache")
				patch := `{"metadata":{"annotations":{"` + annotation + `":` + value + `}}}`
				if err := s.Client.Patch(ctx, mc, rawMergePatch(patch)); err != nil {
					s.Fatal(err)
				}
				if got := mc.Annotations[annotation]; got != "jane" {
					s.Errorf("after the patch %s, %s = %q, want jane", patch, annotation, got)
				}
			}
		})).
		Test(t)
}

func TestDeletionProtection(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationDeletionProtection
	protect := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, value string) error {
		return s.Client.Patch(ctx, mc, rawMergePatch(`{"metadata":{"annotations":{"`+annotation+`":`+value+`}}}`))
	}
	memcached.Feature("deletion protection").
		WithLabel("contract", "admission").
		Assess("refuses what is neither true nor false", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, "cache", 1)
			refused(s.T, protect(ctx, s, mc, `"yes"`), "metadata.annotations[cache.example.com/deletion-protection]", `Unsupported value: "yes"`)
		})).
		Assess("refuses deletion, alone and with all others", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := named(s, "cache")
			if err := protect(ctx, s, mc, `"true"`); err != nil {
				s.Fatal(err)
			}
			refused(s.T, s.Client.Delete(ctx, mc), "protects the Memcached from deletion", "kubectl annotate")
			refused(s.T, s.Client.DeleteAllOf(ctx, mc, client.InNamespace(s.Namespace)), "protects the Memcached from deletion")
			// Programs delete by mistake, too. Only Kubernetes' own clean up.
			pipeline := as(s, "system:serviceaccount:"+s.Namespace+":pipeline")
			refused(s.T, pipeline.Delete(ctx, mc), "protects the Memcached from deletion")
		})).
		Assess("until it is taken off", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := named(s, "cache")
			if err := protect(ctx, s, mc, `null`); err != nil {
				s.Fatal(err)
			}
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		})).
		Assess("and does not hold a namespace up", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}
			add(ctx, s, namespace)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace.Name, Name: "cache", Annotations: map[string]string{annotation: "true"},
			}}
			add(ctx, s, mc)
			remove(ctx, s, namespace)
			framework.WaitForDeletion(ctx, s, namespace)
		})).
		Test(t)
}

func TestPortWarning(t *testing.T) {
	memcached.Feature("a change of port").
		WithLabel("contract", "admission").
		Assess("warns that every pod restarts, and no other change does", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, "cache", 1)
			heard := &warnings{}
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			if err != nil {
				s.Fatal(err)
			}
			for _, change := range []struct {
				patch string
				warns bool
			}{
				{`{"spec":{"size":2}}`, false},
				{`{"spec":{"containerPort":11311}}`, true},
				{`{"spec":{"containerPort":11311}}`, false},
			} {
				if err := user.Patch(ctx, mc, rawMergePatch(change.patch)); err != nil {
					s.Fatal(err)
				}
				if text := heard.take(); strings.Contains(text, "every pod of the Memcached cache restarts") != change.warns {
					s.Errorf("after the patch %s, the warnings are %q; want one of a restart: %v", change.patch, text, change.warns)
				}
			}
		})).
		Test(t)
}

// TestTotalSize owns the operator: the limit is the manager's to choose.
func TestTotalSize(t *testing.T) {
	memcached.Feature("sum of sizes in a namespace").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Assess("is limited for who creates, changes and scales", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			ownOperator(ctx, s)
			restart(ctx, s, runner.WithArgs("--max-total-size-per-namespace=5"))
			first := create(ctx, s, "first", 3)
			second := named(s, "second")
			second.Spec.Size = new(int32(3))
			refused(s.T, s.Client.Create(ctx, second), "spec.size", "sum up to 5", "leaves 2")
			second = create(ctx, s, "second", 2)
			refused(s.T, s.Client.Patch(ctx, second, rawMergePatch(`{"spec":{"size":3}}`)), "spec.size", "leaves 2")
			refused(s.T, scale(ctx, s, second, 3), "spec.size", "leaves 2")
			if err := scale(ctx, s, first, 2); err != nil {
				s.Errorf("making room: %v", err)
			}
			if err := scale(ctx, s, second, 3); err != nil {
				s.Errorf("taking it: %v", err)
			}
			remove(ctx, s, first)
			framework.WaitForDeletion(ctx, s, first)
			if err := scale(ctx, s, second, 5); err != nil {
				s.Errorf("taking what a deleted one has left: %v", err)
			}
		})).
		TestAlone(t)
}

// TestWebhookDown owns the operator. What only the operator can judge waits for it, and nothing else does.
func TestWebhookDown(t *testing.T) {
	protected := map[string]string{cachev1alpha1.AnnotationDeletionProtection: "true"}
	memcached.Feature("webhooks without an operator").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Assess("refuse what they would judge, and let the rest pass", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			plain := create(ctx, s, "plain", 1)
			kept := named(s, "kept")
			kept.Annotations = protected
			add(ctx, s, kept)
			ownOperator(ctx, s)
			stop(ctx, s)
			unanswered(s.T, "a creation", s.Client.Create(ctx, named(s, "new")))
			unanswered(s.T, "a change of size", s.Client.Patch(ctx, plain, rawMergePatch(`{"spec":{"size":2}}`)))
			unanswered(s.T, "a larger scale", scale(ctx, s, plain, 2))
			unanswered(s.T, "a forged creator", s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"annotations":{"`+cachev1alpha1.AnnotationRequestedBy+`":"me"}}}`)))
			unanswered(s.T, "the deletion of what is protected", s.Client.Delete(ctx, kept))
			if err := s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/late"]}}`)); err != nil {
				s.Errorf("a label and a finalizer: %v", err)
			}
			if err := s.Client.Delete(ctx, plain); err != nil {
				s.Errorf("the deletion of what is not protected: %v", err)
			}
			if err := s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
				s.Errorf("the last finalizer: %v", err)
			}
			framework.WaitForDeletion(ctx, s, plain)
		})).
		Assess("and do not hold a namespace up", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}
			add(ctx, s, namespace)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "cache", Annotations: protected}}
			add(ctx, s, mc)
			ownOperator(ctx, s)
			stop(ctx, s)
			remove(ctx, s, namespace)
			framework.WaitForDeletion(ctx, s, namespace)
		})).
		TestAlone(t)
}

// TestCertificateRotation owns the operator, which runs as two replicas with certificates of seconds.
func TestCertificateRotation(t *testing.T) {
	memcached.Feature("rotation of certificates").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Assess("fails no admission", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			short := runner.WithArgs("--webhook-ca-duration=9s", "--webhook-certificate-duration=3s")
			restart(ctx, s, short)
			second, err := s.Operator.AddReplica(ctx, short)
			if err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() {
				ctx := context.WithoutCancel(ctx)
				// The authority of seconds must not be what the next operator begins with.
				if err := errors.Join(second.Remove(ctx), s.Client.Delete(ctx, authority(s)), s.Operator.Restart(ctx)); err != nil {
					s.Error(err)
				}
			})
			// The one that was there before is replaced only when its year is almost over.
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				s.Fatal(err)
			}

			defer asking(ctx, s)()
			seen := [][]byte{nil}
			for range 4 { // the first, and three rotations
				secret := authority(s)
				framework.WaitForObject(ctx, s.Patient(framework.Converge), secret, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(BeElementOf(seen)))))
				seen = append(seen, secret.Data[corev1.TLSCertKey])
			}
		})).
		TestAlone(t)
}

// asking asks the webhooks again and again, until stop is called and it has asked often enough to prove something.
func asking(ctx context.Context, s *framework.Scope) (stop func()) {
	const enough = 100
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n, last := 0, false; n < enough || !last; n++ {
			if err := s.Client.Create(ctx, named(s, "asked"), client.DryRunAll); err != nil {
				s.Errorf("admission %d failed: %v", n, err)
				return
			}
			select {
			case <-stopped:
				last = true
			default:
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

// authority refers to the Secret that holds the operator's certificate authority.
func authority(s *framework.Scope) *corev1.Secret {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(s.Operator.UserName(), "system:serviceaccount:"), ":")
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator-webhook-ca"}}
}

// as returns a client of an administrator who is called so.
func as(s *framework.Scope, user string) client.Client {
	s.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// scale changes a Memcached's size as `kubectl scale` and autoscalers do.
func scale(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, size int32) error {
	return s.Client.SubResource("scale").Update(ctx, named(s, mc.Name), client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: size},
	}))
}

func rawMergePatch(patch string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(patch))
}

// refused fails the test if err is no refusal of a webhook that has judged, in these words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Errorf("error = %v, want a refusal with the words %q", err, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error = %v, want it to contain %q", err, word)
		}
	}
}

// unanswered fails the test if err is not that of a webhook which could not be called.
func unanswered(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("%s without an operator: %v, want it to fail for want of the webhook", what, err)
	}
}

// warnings collects what the API server warns of.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// take returns what has been heard since the last take.
func (w *warnings) take() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}

// passUnjudged lets requests pass that no operator judges, as an administrator does who can't wait for it, until the test ends.
func passUnjudged(ctx context.Context, s *framework.Scope) {
	s.Helper()
	if !s.Webhooks {
		return
	}
	set := func(ctx context.Context, policy admissionregistrationv1.FailurePolicyType) {
		mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
		err := errors.Join(
			s.Client.Get(ctx, client.ObjectKey{Name: "operator-mutating-webhook-configuration"}, mutating),
			s.Client.Get(ctx, client.ObjectKey{Name: "operator-validating-webhook-configuration"}, validating),
		)
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].FailurePolicy = &policy
		}
		for i := range validating.Webhooks {
			validating.Webhooks[i].FailurePolicy = &policy
		}
		if err := errors.Join(err, s.Client.Update(ctx, mutating), s.Client.Update(ctx, validating)); err != nil {
			s.Fatal(err)
		}
	}
	set(ctx, admissionregistrationv1.Ignore)
	s.Cleanup(func() { set(context.WithoutCancel(ctx), admissionregistrationv1.Fail) })
	// When the API server goes by it can't be watched, only tried; it takes milliseconds.
	var err error
	for range 1000 {
		if err = s.Client.Create(ctx, named(s, "trial"), client.DryRunAll); err == nil {
			return
		}
	}
	s.Fatalf("requests do not pass unjudged: %v", err)
}
