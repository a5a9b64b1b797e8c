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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// withWebhooks is a step that needs webhooks which are called.
func withWebhooks(step suite.StepFunc) suite.StepFunc {
	return func(ctx context.Context, t *testing.T, s *suite.Scope) {
		t.Helper()
		if !s.Webhooks {
			t.Skip("the API server of this cluster can't call webhooks of a process on this machine")
		}
		step(ctx, t, s)
	}
}

func TestRequestedBy(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationRequestedBy
	memcached.Test(t, features.New("who asked").
		WithLabel("contract", "admission").
		Assess("is recorded, whatever the request says", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "cache")
			mc.Annotations = map[string]string{annotation: "somebody-else"}
			jane := as(t, s, "jane")
			if err := jane.Create(ctx, mc); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Object(ctx, mc, HaveField("Annotations", HaveKeyWithValue(annotation, "jane")))
		}))).
		Assess("and nobody can change it", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			for _, value := range []string{`"somebody-else"`, `null`, `""`} {
				mc := named(s, "cache")
				patch := `{"metadata":{"annotations":{"` + annotation + `":` + value + `}}}`
				if err := s.Client.Patch(ctx, mc, rawMergePatch(patch)); err != nil {
					t.Fatal(err)
				}
				if got := mc.Annotations[annotation]; got != "jane" {
					t.Errorf("after the patch %s, %s = %q, want jane", patch, annotation, got)
				}
			}
		}))).
		Feature())
}

func TestDeletionProtection(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationDeletionProtection
	protect := func(ctx context.Context, s *suite.Scope, mc *cachev1alpha1.Memcached, value string) error {
		return s.Client.Patch(ctx, mc, rawMergePatch(`{"metadata":{"annotations":{"`+annotation+`":`+value+`}}}`))
	}
	memcached.Test(t, features.New("deletion protection").
		WithLabel("contract", "admission").
		Assess("refuses what is neither true nor false", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			refused(t, protect(ctx, s, mc, `"yes"`), "metadata.annotations[cache.example.com/deletion-protection]", `Unsupported value: "yes"`)
		}))).
		Assess("refuses deletion, alone and with all others", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "cache")
			if err := protect(ctx, s, mc, `"true"`); err != nil {
				t.Fatal(err)
			}
			refused(t, s.Client.Delete(ctx, mc), "protects the Memcached from deletion", "kubectl annotate")
			refused(t, s.Client.DeleteAllOf(ctx, mc, client.InNamespace(s.Namespace)), "protects the Memcached from deletion")
			// Programs delete by mistake, too. Only Kubernetes' own clean up.
			pipeline := as(t, s, "system:serviceaccount:"+s.Namespace+":pipeline")
			refused(t, pipeline.Delete(ctx, mc), "protects the Memcached from deletion")
		}))).
		Assess("until it is taken off", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := named(s, "cache")
			if err := protect(ctx, s, mc, `null`); err != nil {
				t.Fatal(err)
			}
			remove(ctx, t, s, mc)
			s.Expect(t).Gone(ctx, mc)
		}))).
		Assess("and does not hold a namespace up", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}
			add(ctx, t, s, namespace)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace.Name, Name: "cache", Annotations: map[string]string{annotation: "true"},
			}}
			add(ctx, t, s, mc)
			remove(ctx, t, s, namespace)
			s.Expect(t).Gone(ctx, namespace)
		}))).
		Feature())
}

func TestPortWarning(t *testing.T) {
	memcached.Test(t, features.New("a change of port").
		WithLabel("contract", "admission").
		Assess("warns that every pod restarts, and no other change does", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			heard := &warnings{}
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			if err != nil {
				t.Fatal(err)
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
					t.Fatal(err)
				}
				if text := heard.take(); strings.Contains(text, "every pod of the Memcached cache restarts") != change.warns {
					t.Errorf("after the patch %s, the warnings are %q; want one of a restart: %v", change.patch, text, change.warns)
				}
			}
		}))).
		Feature())
}

// TestTotalSize owns the operator: the limit is the manager's to choose.
func TestTotalSize(t *testing.T) {
	memcached.TestAlone(t, features.New("sum of sizes in a namespace").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Assess("is limited for who creates, changes and scales", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			ownOperator(ctx, t, s)
			restart(ctx, t, s, runner.WithArgs("--max-total-size-per-namespace=5"))
			first := create(ctx, t, s, "first", 3)
			second := named(s, "second")
			second.Spec.Size = new(int32(3))
			refused(t, s.Client.Create(ctx, second), "spec.size", "sum up to 5", "leaves 2")
			second = create(ctx, t, s, "second", 2)
			refused(t, s.Client.Patch(ctx, second, rawMergePatch(`{"spec":{"size":3}}`)), "spec.size", "leaves 2")
			refused(t, scale(ctx, s, second, 3), "spec.size", "leaves 2")
			if err := scale(ctx, s, first, 2); err != nil {
				t.Errorf("making room: %v", err)
			}
			if err := scale(ctx, s, second, 3); err != nil {
				t.Errorf("taking it: %v", err)
			}
			remove(ctx, t, s, first)
			s.Expect(t).Gone(ctx, first)
			if err := scale(ctx, s, second, 5); err != nil {
				t.Errorf("taking what a deleted one has left: %v", err)
			}
		}))).
		Feature())
}

// TestWebhookDown owns the operator. What only the operator can judge waits for it, and nothing else does.
func TestWebhookDown(t *testing.T) {
	protected := map[string]string{cachev1alpha1.AnnotationDeletionProtection: "true"}
	memcached.TestAlone(t, features.New("webhooks without an operator").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Assess("refuse what they would judge, and let the rest pass", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			plain := create(ctx, t, s, "plain", 1)
			kept := named(s, "kept")
			kept.Annotations = protected
			add(ctx, t, s, kept)
			ownOperator(ctx, t, s)
			stop(ctx, t, s)
			unanswered(t, "a creation", s.Client.Create(ctx, named(s, "new")))
			unanswered(t, "a change of size", s.Client.Patch(ctx, plain, rawMergePatch(`{"spec":{"size":2}}`)))
			unanswered(t, "a larger scale", scale(ctx, s, plain, 2))
			unanswered(t, "a forged creator", s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"annotations":{"`+cachev1alpha1.AnnotationRequestedBy+`":"me"}}}`)))
			unanswered(t, "the deletion of what is protected", s.Client.Delete(ctx, kept))
			if err := s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/late"]}}`)); err != nil {
				t.Errorf("a label and a finalizer: %v", err)
			}
			if err := s.Client.Delete(ctx, plain); err != nil {
				t.Errorf("the deletion of what is not protected: %v", err)
			}
			if err := s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
				t.Errorf("the last finalizer: %v", err)
			}
			s.Expect(t).Gone(ctx, plain)
		}))).
		Assess("and do not hold a namespace up", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}
			add(ctx, t, s, namespace)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "cache", Annotations: protected}}
			add(ctx, t, s, mc)
			ownOperator(ctx, t, s)
			stop(ctx, t, s)
			remove(ctx, t, s, namespace)
			s.Expect(t).Gone(ctx, namespace)
		}))).
		Feature())
}

// TestCertificateRotation owns the operator, which runs as two replicas with certificates of seconds.
func TestCertificateRotation(t *testing.T) {
	memcached.TestAlone(t, features.New("rotation of certificates").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Assess("fails no admission", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			short := runner.WithArgs("--webhook-ca-duration=9s", "--webhook-certificate-duration=3s")
			restart(ctx, t, s, short)
			second, err := s.Operator.AddReplica(ctx, short)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				ctx := context.WithoutCancel(ctx)
				// The authority of seconds must not be what the next operator begins with.
				if err := errors.Join(second.Remove(ctx), s.Client.Delete(ctx, authority(s)), s.Operator.Restart(ctx)); err != nil {
					t.Error(err)
				}
			})
			// The one that was there before is replaced only when its year is almost over.
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				t.Fatal(err)
			}

			defer asking(ctx, t, s)()
			seen := [][]byte{nil}
			for range 4 { // the first, and three rotations
				secret := authority(s)
				s.Expect(t).Patient(expect.Converge).Object(ctx, secret, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(BeElementOf(seen)))))
				seen = append(seen, secret.Data[corev1.TLSCertKey])
			}
		}))).
		Feature())
}

// asking asks the webhooks again and again, until stop is called and it has asked often enough to prove something.
func asking(ctx context.Context, t *testing.T, s *suite.Scope) (stop func()) {
	const enough = 100
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n, last := 0, false; n < enough || !last; n++ {
			if err := s.Client.Create(ctx, named(s, "asked"), client.DryRunAll); err != nil {
				t.Errorf("admission %d failed: %v", n, err)
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
func authority(s *suite.Scope) *corev1.Secret {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(s.Operator.UserName(), "system:serviceaccount:"), ":")
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator-webhook-ca"}}
}

// as returns a client of an administrator who is called so.
func as(t *testing.T, s *suite.Scope, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// scale changes a Memcached's size as `kubectl scale` and autoscalers do.
func scale(ctx context.Context, s *suite.Scope, mc *cachev1alpha1.Memcached, size int32) error {
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
func passUnjudged(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
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
			t.Fatal(err)
		}
	}
	set(ctx, admissionregistrationv1.Ignore)
	t.Cleanup(func() { set(context.WithoutCancel(ctx), admissionregistrationv1.Fail) })
	// When the API server goes by it can't be watched, only tried; it takes milliseconds.
	var err error
	for range 1000 {
		if err = s.Client.Create(ctx, named(s, "trial"), client.DryRunAll); err == nil {
			return
		}
	}
	t.Fatalf("requests do not pass unjudged: %v", err)
}
