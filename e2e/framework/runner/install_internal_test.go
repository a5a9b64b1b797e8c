package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// tokens answers like an API server that only knows ServiceAccounts and their tokens.
func tokens(t *testing.T) *rest.Config {
	t.Helper()
	answers := map[string]any{
		"/api":    metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis":   metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}},
		"/api/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}}},
		"/api/v1/namespaces/gatekeeper-system/serviceaccounts/gatekeeper/token": map[string]any{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "status": map[string]any{"token": "t"},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// TestInstallRunsNothing installs an operator whose webhooks are called. A submission must not run before the walls are around it, so
// installing it reads the manifests and doesn't start the executable.
func TestInstallRunsNothing(t *testing.T) {
	g := NewWithT(t)
	group, err := supervisor.Start(t.Context(), supervisor.Options{Dir: filepath.Join(t.TempDir(), "group")})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = group.Shutdown(context.WithoutCancel(t.Context())) })
	manifests, err := manifest.Render("../manifest/testdata/webhooks")
	g.Expect(err).NotTo(HaveOccurred())
	ran := filepath.Join(t.TempDir(), "ran")
	binary := filepath.Join(t.TempDir(), "operator")
	g.Expect(os.WriteFile(binary, fmt.Appendf(nil, "#!/bin/sh\ntouch '%s'\n", ran), 0o700)).To(Succeed())
	o := &Operator{
		options: Options{Name: "operator", Config: tokens(t), Supervisor: group, Manifests: manifest.New(manifests.Without(manifest.CRD)...), Binary: binary, Webhooks: true},
		admin:   fake.NewClientBuilder().Build(),
	}
	g.Expect(o.install(t.Context())).To(Succeed())
	service := &corev1.Service{}
	g.Expect(o.admin.Get(t.Context(), manifests.WebhookServices()[0], service)).To(Succeed(), "the Service of the webhooks is installed")
	g.Expect(ran).NotTo(BeAnExistingFile())
}
