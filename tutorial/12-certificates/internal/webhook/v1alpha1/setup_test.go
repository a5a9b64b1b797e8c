package v1alpha1

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

// staleManager is a manager whose cache lacks what its API server has. It is never started.
type staleManager struct {
	ctrl.Manager
	live client.Reader
}

// GetAPIReader implements manager.Manager.
func (m staleManager) GetAPIReader() client.Reader { return m.live }

// Each webhook is served at its path in the manifests. The limit is checked against the API server, because the cache may be
// behind.
func TestSetup(t *testing.T) {
	empty := fake.NewClientBuilder().WithScheme(newScheme(t)).Build()
	m, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:         newScheme(t),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return empty.RESTMapper(), nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return empty, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(memcached("other", 3, 11211, nil)).Build()
	if err := SetupWebhookWithManager(staleManager{m, live}, 5); err != nil {
		t.Fatal(err)
	}
	asked := map[string]admission.Request{
		"mmemcached-v1alpha1.kb.io":      request(t, admissionv1.Create, nil, memcached("a", 1, 11211, nil)),
		"vmemcached-v1alpha1.kb.io":      request(t, admissionv1.Create, nil, memcached("a", 3, 11211, nil)),
		"vmemcachedscale-v1alpha1.kb.io": request(t, admissionv1.Update, scale("a", 1), scale("a", 3)),
	}
	got := map[string]string{}
	for name, path := range paths(t) {
		review := asked[name].AdmissionRequest
		body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &review})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		m.GetWebhookServer().WebhookMux().ServeHTTP(recorder, r)
		answer := admissionv1.AdmissionReview{}
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
			t.Fatalf("%s is answered with %d %s", path, recorder.Code, recorder.Body)
		}
		switch response := answer.Response; {
		case !response.Allowed && strings.Contains(response.Result.Message, "sum up to 5: the others have 3"):
			got[name] = "refused"
		case response.Allowed && strings.Contains(string(response.Patch), "requested-by"):
			got[name] = "changed"
		case response.Allowed:
			got[name] = "allowed"
		}
	}
	want := map[string]string{"mmemcached-v1alpha1.kb.io": "changed", "vmemcached-v1alpha1.kb.io": "refused", "vmemcachedscale-v1alpha1.kb.io": "refused"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// paths returns the path of each webhook in the manifests.
func paths(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "webhook", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for document := range bytes.SplitSeq(content, []byte("---\n")) {
		// Both kinds have the fields that are read here.
		configuration := admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := yaml.Unmarshal(document, &configuration); err != nil {
			t.Fatal(err)
		}
		for _, webhook := range configuration.Webhooks {
			found[webhook.Name] = *webhook.ClientConfig.Service.Path
		}
	}
	return found
}
