package v1alpha1

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

// registering is a webhook server that only keeps what is registered.
type registering struct {
	webhook.Server
	hooks map[string]*admission.Webhook
}

func (r registering) Register(path string, hook http.Handler) {
	r.hooks[path] = hook.(*admission.Webhook)
}

// judge is a validator that answers each creation in the same way.
type judge struct {
	admission.Validator[*cachev1alpha1.Memcached]
	decide func() error
}

func (j judge) ValidateCreate(context.Context, *cachev1alpha1.Memcached) (admission.Warnings, error) {
	return nil, j.decide()
}

func TestErrorsAreCounted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(`{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached"}`)},
	}}
	for name, test := range map[string]struct {
		decide func() error
		counts float64
	}{
		"admitted":        {func() error { return nil }, 0},
		"refused":         {func() error { return apierrors.NewInvalid(schema.GroupKind{}, "cache", nil) }, 0},
		"denied":          {func() error { return errors.New("not today") }, 0},
		"without a quota": {func() error { return apierrors.NewInternalError(errors.New("the sizes can't be read")) }, 1},
		"a panic":         {func() error { panic("a mistake") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := "/" + name
			server := registering{hooks: map[string]*admission.Webhook{}}
			hook := admission.WithValidator[*cachev1alpha1.Memcached](scheme, judge{decide: test.decide})
			countingServer{server}.Register(path, hook.WithRecoverPanic(true))
			registered := testutil.CollectAndCount(metrics.WebhookErrors)
			counter := metrics.WebhookErrors.WithLabelValues(path)
			if testutil.CollectAndCount(metrics.WebhookErrors) != registered {
				t.Error("it is not exported before the first error")
			}
			server.hooks[path].Handle(t.Context(), request)
			if got := testutil.ToFloat64(counter); got != test.counts {
				t.Errorf("counted %v errors, want %v", got, test.counts)
			}
		})
	}
}
