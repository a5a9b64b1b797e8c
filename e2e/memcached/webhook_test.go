package memcached

import (
	"context"
	"errors"
	"fmt"
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

// needsWebhooks is the setup of a feature that needs webhooks which are called.
func needsWebhooks(_ context.Context, s *framework.Scope) {
	s.Helper()
	s.NeedsWebhooks()
}

// protected protects a new Memcached from deletion.
func protected(mc *cachev1alpha1.Memcached) {
	mc.Annotations = map[string]string{cachev1alpha1.AnnotationDeletionProtection: "true"}
}

func TestRequestedBy(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationRequestedBy
	feature := memcached.Feature("who asked").
		WithLabel("contract", "admission").
		Setup(needsWebhooks)
	framework.Given(feature, func(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return named(s, s.NewName("cache"))
	}).
		Assess("is recorded, whatever the request says", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			mc.Annotations = map[string]string{annotation: "somebody-else"}
			if err := as(s, "jane").Create(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Annotations", HaveKeyWithValue(annotation, "jane")))
		}).
		Assess("and nobody can change it", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			for _, value := range []string{`"somebody-else"`, `null`, `""`} {
				patch := `{"metadata":{"annotations":{"` + annotation + `":` + value + `}}}`
				if err := s.Client.Patch(ctx, mc, rawMergePatch(patch)); err != nil {
					s.Fatal(err)
				}
				if got := mc.Annotations[annotation]; got != "jane" {
					s.Errorf("after the patch %s, %s = %q, want jane", patch, annotation, got)
				}
			}
		}).
		Test(t)
}

func TestDeletionProtection(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationDeletionProtection
	protect := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, value string) error {
		return s.Client.Patch(ctx, mc, rawMergePatch(`{"metadata":{"annotations":{"`+annotation+`":`+value+`}}}`))
	}
	framework.Given(memcached.Feature("deletion protection").WithLabel("contract", "admission").Setup(needsWebhooks), created(1, 2)).
		Assess("refuses what is neither true nor false", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			refused(s, protect(ctx, s, mc, `"yes"`), "metadata.annotations[cache.example.com/deletion-protection]", `Unsupported value: "yes"`)
		}).
		Assess("refuses deletion, alone and with all others", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			if err := protect(ctx, s, mc, `"true"`); err != nil {
				s.Fatal(err)
			}
			refused(s, s.Client.Delete(ctx, mc), "protects the Memcached from deletion", "kubectl annotate")
			refused(s, s.Client.DeleteAllOf(ctx, mc, client.InNamespace(s.Namespace)), "protects the Memcached from deletion")
			// Programs delete by mistake, too. Only Kubernetes' own clean up.
			pipeline := as(s, "system:serviceaccount:"+s.Namespace+":pipeline")
			refused(s, pipeline.Delete(ctx, mc), "protects the Memcached from deletion")
		}).
		Assess("until it is taken off", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			if err := protect(ctx, s, mc, `null`); err != nil {
				s.Fatal(err)
			}
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		}).
		Assess("and does not hold a namespace up", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: anotherNamespace(ctx, s)}}
			create(ctx, inNamespace(s, namespace.Name), s.NewName("cache"), s.Size(1, 2), protected)
			remove(ctx, s, namespace)
			framework.WaitForDeletion(ctx, s, namespace)
		}).
		Test(t)
}

func TestPortWarning(t *testing.T) {
	memcached.Feature("a change of port").
		WithLabel("contract", "admission").
		Setup(needsWebhooks).
		Assess("warns that every pod restarts, and no other change does", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			heard := &warnings{}
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			if err != nil {
				s.Fatal(err)
			}
			port := fmt.Sprintf(`{"spec":{"containerPort":%d}}`, s.Port())
			for _, change := range []struct {
				what  string
				patch client.Patch
				warns bool
			}{
				{"the size", sizePatch(s.Size(3, 5)), false},
				{"the port", rawMergePatch(port), true},
				{"the port to the same one", rawMergePatch(port), false},
			} {
				if err := user.Patch(ctx, mc, change.patch); err != nil {
					s.Fatal(err)
				}
				if text := heard.take(); strings.Contains(text, "every pod of the Memcached "+mc.Name+" restarts") != change.warns {
					s.Errorf("after a change of %s, the warnings are %q; want one of a restart: %v", change.what, text, change.warns)
				}
			}
		}).
		Test(t)
}

// TestTotalSize owns the operator: the limit is the manager's to choose.
func TestTotalSize(t *testing.T) {
	memcached.Feature("sum of sizes in a namespace").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Assess("is limited for creation, changes and scaling", func(ctx context.Context, s *framework.Scope) {
			large, room := s.Size(2, 3), s.Size(1, 2)
			limit, leaves := large+room, fmt.Sprintf("leaves %d", room)
			operatorWith(runner.WithArgs(fmt.Sprintf("--max-total-size-per-namespace=%d", limit)))(ctx, s)
			first := create(ctx, s, s.NewName("first"), large)
			second := named(s, s.NewName("second"))
			second.Spec.Size = new(room + 1)
			refused(s, s.Client.Create(ctx, second), "spec.size", fmt.Sprintf("sum up to %d", limit), leaves)
			second = create(ctx, s, second.Name, room)
			refused(s, s.Client.Patch(ctx, second, sizePatch(room+1)), "spec.size", leaves)
			refused(s, scale(ctx, s, second, room+1), "spec.size", leaves)
			if err := scale(ctx, s, first, large-1); err != nil {
				s.Errorf("making room: %v", err)
			}
			if err := scale(ctx, s, second, room+1); err != nil {
				s.Errorf("taking it: %v", err)
			}
			remove(ctx, s, first)
			framework.WaitForDeletion(ctx, s, first)
			if err := scale(ctx, s, second, limit); err != nil {
				s.Errorf("taking what a deleted one has left: %v", err)
			}
		}).
		TestAlone(t)
}

// TestWebhookDown owns the operator. What only the operator can judge waits for it, and nothing else does.
func TestWebhookDown(t *testing.T) {
	memcached.Feature("webhooks without an operator").
		WithLabel("contract", "admission").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Assess("refuse what they would check, and let the rest pass", func(ctx context.Context, s *framework.Scope) {
			plain, kept := create(ctx, s, s.NewName("plain"), s.Size(1, 2)), create(ctx, s, s.NewName("kept"), s.Size(1, 2), protected)
			ownOperator(ctx, s)
			stop(ctx, s)
			unanswered(s, "a creation", s.Client.Create(ctx, named(s, s.NewName("new"))))
			larger := s.Size(3, 5)
			unanswered(s, "a change of size", s.Client.Patch(ctx, plain, sizePatch(larger)))
			unanswered(s, "a larger scale", scale(ctx, s, plain, larger))
			unanswered(s, "a forged creator", s.Client.Patch(ctx, plain, rawMergePatch(`{"metadata":{"annotations":{"`+cachev1alpha1.AnnotationRequestedBy+`":"me"}}}`)))
			unanswered(s, "the deletion of what is protected", s.Client.Delete(ctx, kept))
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
		}).
		Assess("and do not hold a namespace up", func(ctx context.Context, s *framework.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: anotherNamespace(ctx, s)}}
			create(ctx, inNamespace(s, namespace.Name), s.NewName("cache"), s.Size(1, 2), protected)
			ownOperator(ctx, s)
			stop(ctx, s)
			remove(ctx, s, namespace)
			framework.WaitForDeletion(ctx, s, namespace)
		}).
		TestAlone(t)
}

// TestCertificateRotation owns the operator, which runs as two replicas with certificates of seconds.
func TestCertificateRotation(t *testing.T) {
	memcached.Feature("rotation of certificates").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Assess("fails no admission", func(ctx context.Context, s *framework.Scope) {
			// A certificate is renewed five seconds before it expires. An operator that stands still for longer fails admissions, as it would
			// with certificates of a year.
			short := runner.WithArgs("--webhook-ca-duration=30s", "--webhook-certificate-duration=15s")
			restart(ctx, s, short)
			second, err := s.Operator.AddReplica(ctx, short)
			if err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() {
				ctx := context.WithoutCancel(ctx)
				// The authority of seconds must not be what the next operator starts with. One that still runs would store another.
				if err := errors.Join(second.Remove(ctx), s.Operator.Stop(ctx), s.Client.Delete(ctx, authority(s)), s.Operator.Restart(ctx)); err != nil {
					s.Error(err)
				}
			})
			// The one that was there before is replaced only when its year is almost over.
			remove(ctx, s, authority(s))

			defer asking(ctx, s)()
			seen := [][]byte{nil}
			for range 3 { // the first, and two rotations
				secret := authority(s)
				framework.WaitForObject(ctx, s.Patient(framework.Converge), secret, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(BeElementOf(seen)))))
				seen = append(seen, secret.Data[corev1.TLSCertKey])
			}
		}).
		TestAlone(t)
}

// asking asks the webhooks again and again, until stop is called and it has asked often enough to prove something.
func asking(ctx context.Context, s *framework.Scope) (stop func()) {
	const enough = 100
	asked := named(s, s.NewName("asked"))
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n, last := 0, false; n < enough || !last; n++ {
			if err := s.Client.Create(ctx, asked.DeepCopy(), client.DryRunAll); err != nil {
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

// sizePatch changes a Memcached's size.
func sizePatch(size int32) client.Patch {
	return rawMergePatch(fmt.Sprintf(`{"spec":{"size":%d}}`, size))
}

// refused fails the test unless err is a webhook's refusal with these words.
func refused(s *framework.Scope, err error, words ...string) {
	s.Helper()
	if !apierrors.IsInvalid(err) {
		s.Errorf("error = %v, want a refusal with the words %q", err, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.Errorf("error = %v, want it to contain %q", err, word)
		}
	}
}

// unanswered fails the test if err is not that of a webhook which could not be called.
func unanswered(s *framework.Scope, what string, err error) {
	s.Helper()
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") {
		s.Errorf("%s without an operator: %v, want it to fail for want of the webhook", what, err)
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

// passUnchecked lets requests pass without the webhooks of the operator, which has been stopped, until the end of the test, as an
// administrator does who can't wait for them.
func passUnchecked(ctx context.Context, s *framework.Scope) {
	s.Helper()
	if !s.Webhooks {
		return
	}
	set := func(ctx context.Context, policy admissionregistrationv1.FailurePolicyType) {
		mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := errors.Join(
			s.Client.Get(ctx, client.ObjectKey{Name: "operator-mutating-webhook-configuration"}, mutating),
			s.Client.Get(ctx, client.ObjectKey{Name: "operator-validating-webhook-configuration"}, validating),
		); err != nil {
			s.Fatal(err)
		}
		// These patches change only the policies: the operator may write the bundles meanwhile.
		mutatingPatch, validatingPatch := client.StrategicMergeFrom(mutating.DeepCopy()), client.StrategicMergeFrom(validating.DeepCopy())
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].FailurePolicy = &policy
		}
		for i := range validating.Webhooks {
			validating.Webhooks[i].FailurePolicy = &policy
		}
		if err := errors.Join(s.Client.Patch(ctx, mutating, mutatingPatch), s.Client.Patch(ctx, validating, validatingPatch)); err != nil {
			s.Fatal(err)
		}
	}
	set(ctx, admissionregistrationv1.Ignore)
	s.Cleanup(func() { set(context.WithoutCancel(ctx), admissionregistrationv1.Fail) })
	// When the API server goes by it can't be watched, only tried; it takes milliseconds.
	trial := named(s, s.NewName("trial"))
	framework.WaitFor(ctx, s, "that requests pass without the webhooks", func(ctx context.Context) error {
		return s.Client.Create(ctx, trial.DeepCopy(), client.DryRunAll)
	})
}
