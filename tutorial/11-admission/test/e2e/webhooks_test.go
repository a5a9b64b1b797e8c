package e2e

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// withWebhooks is a step that needs webhooks which are called.
func withWebhooks(step framework.Step) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		if !s.Webhooks {
			s.Skip("the webhooks of this operator need a certificate that they get on an embedded cluster only; 12-certificates makes its own")
		}
		step(ctx, s)
	}
}

// TestDefaulter is about what the Defaulter does: it records who asked.
func TestDefaulter(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationRequestedBy
	stage.Feature("who asked").
		Assess("is recorded, whatever the request says, and stays", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			mc := memcached(s, s.NewName("cache"), s.Size(1, 2))
			mc.Annotations = map[string]string{annotation: "somebody-else"}
			g.Expect(as(s, "jane").Create(ctx, mc)).To(Succeed())
			g.Expect(mc.Annotations).To(HaveKeyWithValue(annotation, "jane"), "expected the annotation to name the user who creates")
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+annotation+`":"somebody-else"}}}`)).To(Succeed())
			g.Expect(mc.Annotations).To(HaveKeyWithValue(annotation, "jane"), "expected the annotation to keep the user who created")
		})).
		Test(t)
}

// TestDeletionProtection is about the first rule of the Validator's.
func TestDeletionProtection(t *testing.T) {
	const annotation = cachev1alpha1.AnnotationDeletionProtection
	stage.Feature("deletion protection").
		Assess("refuses what is neither true nor false", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			refused(s, patch(ctx, s, mc, `{"metadata":{"annotations":{"`+annotation+`":"yes"}}}`),
				"metadata.annotations[cache.example.com/deletion-protection]", `Unsupported value: "yes"`)
		})).
		Assess("refuses deletion until it is taken off", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			mc := create(ctx, s, s.NewName("kept"), s.Size(1, 2))
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+annotation+`":"true"}}}`)).To(Succeed())
			refused(s, s.Client.Delete(ctx, mc),
				"metadata.annotations[cache.example.com/deletion-protection]", "protects the Memcached from deletion")
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+annotation+`":null}}}`)).To(Succeed())
			g.Expect(s.Client.Delete(ctx, mc)).To(Succeed())
			framework.WaitForDeletion(ctx, s, mc)
		})).
		Test(t)
}

// TestTotalSize is about the second rule: it looks at what else is there, which no schema does.
func TestTotalSize(t *testing.T) {
	stage.Feature("the sum of sizes in a namespace").
		Setup(withWebhooks(ownOperator)).
		Assess("is limited for creation, changes and scaling", func(ctx context.Context, s *framework.Scope) {
			large, room := s.Size(3, 4), s.Size(1, 2)
			leaves := fmt.Sprintf("leaves %d", room)
			restart(ctx, s, runner.WithArgs(fmt.Sprintf("--max-total-size-per-namespace=%d", large+room)))
			first := create(ctx, s, s.NewName("first"), large)
			refused(s, s.Client.Create(ctx, memcached(s, s.NewName("second"), room+1)), "spec.size", fmt.Sprintf("may sum up to %d", large+room), leaves)
			second := create(ctx, s, s.NewName("second"), room)
			refused(s, resize(ctx, s, second, room+1), "spec.size", leaves)
			refused(s, scale(ctx, s, second, room+1), "spec.size", leaves)
			NewWithT(s).Expect(scale(ctx, s, first, large-1)).To(Succeed(), "expected a smaller size to be accepted")
			NewWithT(s).Expect(scale(ctx, s, second, room+1)).To(Succeed(), "expected a size within the limit to be accepted")
		}).
		TestAlone(t)
}

// TestPortWarning is about what the Validator allows, with a word.
func TestPortWarning(t *testing.T) {
	stage.Feature("a change of port").
		Assess("is allowed, with a warning", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			heard := &warnings{}
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			g := NewWithT(s)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(user.Patch(ctx, mc, specPatch("size", s.Size(3, 5)))).To(Succeed())
			g.Expect(heard.texts).To(BeEmpty(), "expected no warning of a change of size")
			g.Expect(user.Patch(ctx, mc, specPatch("containerPort", s.Port()))).To(Succeed())
			g.Expect(heard.texts).To(ConsistOf(ContainSubstring("every pod of the Memcached %s restarts", mc.Name)), "expected a warning of a change of port")
		})).
		Test(t)
}

// TestOff turns the webhooks off, and removes what makes the API server call them. What the schema says holds all the same.
func TestOff(t *testing.T) {
	stage.Feature("ENABLE_WEBHOOKS=false").
		Setup(withWebhooks(func(ctx context.Context, s *framework.Scope) {
			ownOperator(ctx, s)
			removeConfigurations(ctx, s)
			bounded, cancel := s.Bounded(ctx)
			defer cancel()
			// Without webhooks it needs no certificate.
			if err := s.Operator.Restart(bounded, runner.WithEnv("ENABLE_WEBHOOKS=false"), runner.WithArgs("--webhook-cert-path=")); err != nil {
				s.Fatalf("expected that the operator is ready without webhooks; last seen: %v", err)
			}
		})).
		Assess("leaves the schema, and the operator at work", func(ctx context.Context, s *framework.Scope) {
			refused(s, s.Client.Create(ctx, memcached(s, s.NewName("large"), largest+1)), "spec.size", fmt.Sprintf("should be less than or equal to %d", largest))
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			g := NewWithT(s)
			g.Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy))
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+cachev1alpha1.AnnotationDeletionProtection+`":"true"}}}`)).To(Succeed())
			g.Expect(s.Client.Delete(ctx, mc)).To(Succeed(), "expected the deletion to succeed without webhooks")
		}).
		TestAlone(t)
}

// removeConfigurations deletes the webhook configurations. The test's end brings them back.
func removeConfigurations(ctx context.Context, s *framework.Scope) {
	s.Helper()
	for _, configuration := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-mutating-webhook-configuration"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-validating-webhook-configuration"}},
	} {
		err := errors.Join(
			s.Client.Get(ctx, client.ObjectKeyFromObject(configuration), configuration),
			s.Client.Delete(ctx, configuration.DeepCopyObject().(client.Object)),
		)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			configuration.SetResourceVersion("")
			if err := s.Client.Create(context.WithoutCancel(ctx), configuration); err != nil {
				s.Error(err)
			}
		})
	}
	// When the API server goes by it can't be watched, only tried.
	proposed := memcached(s, s.NewName("trial"), s.Size(1, 2))
	framework.WaitFor(ctx, s, "a trial", func(ctx context.Context) error {
		trial := proposed.DeepCopy()
		if err := s.Client.Create(ctx, trial, client.DryRunAll); err != nil {
			return fmt.Errorf("expected no call of webhooks that are not configured; last seen: %w", err)
		}
		if trial.Annotations[cachev1alpha1.AnnotationRequestedBy] != "" {
			return fmt.Errorf("expected no call of webhooks that are not configured; last seen: %v", trial.Annotations)
		}
		return nil
	})
}

// memcached is a Memcached that does not exist yet.
func memcached(s *framework.Scope, name string, size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
	}
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

func patch(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, text string) error {
	return s.Client.Patch(ctx, mc, client.RawPatch(types.MergePatchType, []byte(text)))
}

// resize changes a Memcached's size.
func resize(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, size int32) error {
	return s.Client.Patch(ctx, mc, specPatch("size", size))
}

// specPatch sets a number in a Memcached's spec.
func specPatch(field string, number int32) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{%q:%d}}`, field, number))
}

// scale changes a Memcached's size as `kubectl scale` and autoscalers do.
func scale(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, size int32) error {
	return s.Client.SubResource("scale").Update(ctx, mc.DeepCopy(), client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: size},
	}))
}

// refused asserts that a request was checked and rejected, with these words in the message: the field, and the reason.
func refused(s *framework.Scope, err error, words ...string) {
	s.Helper()
	if !apierrors.IsInvalid(err) {
		s.Errorf("expected a refusal with the words %q; last seen: %v", words, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.Errorf("expected a refusal with the words %q; last seen: %v", words, err)
		}
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
