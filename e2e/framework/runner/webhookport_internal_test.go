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
	manifests, err := Render("testdata/webhooks")
	g.Expect(err).NotTo(HaveOccurred())
	ran := filepath.Join(t.TempDir(), "ran")
	binary := filepath.Join(t.TempDir(), "operator")
	g.Expect(os.WriteFile(binary, fmt.Appendf(nil, "#!/bin/sh\ntouch '%s'\n", ran), 0o700)).To(Succeed())
	o := &Operator{
		options: Options{Name: "operator", Config: tokens(t), Supervisor: group, Manifests: NewManifests(manifests.Without(definition)...), Binary: binary, Webhooks: true},
		admin:   fake.NewClientBuilder().Build(),
	}
	g.Expect(o.install(t.Context())).To(Succeed())
	service := &corev1.Service{}
	g.Expect(o.admin.Get(t.Context(), manifests.webhookServices()[0], service)).To(Succeed(), "the Service of the webhooks is installed")
	g.Expect(ran).NotTo(BeAnExistingFile())
}

func TestFixedPort(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: system}\n" +
			"spec: {template: {spec: {containers: [{name: manager, args: [%s], ports: [{name: other, containerPort: 1}, {name: hooks, containerPort: 9444}]}]}}}\n"
		service       = "apiVersion: v1\nkind: Service\nmetadata: {name: webhook, namespace: system}\nspec: {ports: [%s]}\n"
		configuration = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n" +
			"webhooks: [{name: w.example.com, clientConfig: {service: {name: webhook, namespace: system%s}}}]\n"
	)
	for name, tc := range map[string]struct {
		args, ports, called string
		want, wrong         string
	}{
		"a number":                     {ports: "{port: 443, targetPort: 9443}", want: "9443"},
		"a name":                       {ports: "{port: 443, targetPort: hooks}", want: "9444"},
		"the Service's own port":       {ports: "{port: 443}", want: "443"},
		"the port that is called":      {ports: "{port: 443, targetPort: 9443}, {port: 444, targetPort: 9445}", called: ", port: 444", want: "9445"},
		"the default port":             {ports: "{port: 8443, targetPort: 1}, {port: 443, targetPort: 2}", want: "2"},
		"the only port":                {ports: "{port: 9999, targetPort: 3}", want: "3"},
		"a flag":                       {args: "--webhook-bind-address=:9443", want: ""},
		"a flag in two words":          {args: "-webhook-bind-address, ':9443'", want: ""},
		"a flag, whatever the Service": {args: "--webhook-bind-address=:9443", ports: "{port: 443, targetPort: none}", want: ""},
		"a flag that looks like it":    {args: "--old-webhook-bind-address=:1, --webhook-bind-address-v2=:1", ports: "{port: 443, targetPort: 9443}", want: "9443"},
		"no such port":                 {wrong: "the Service system/webhook of the webhooks has no port"},
		"an unknown name":              {ports: "{port: 443, targetPort: none}", wrong: `leads to the port "none", which the manager's container does not have`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := Parse(fmt.Appendf(nil, deployment+"---\n"+service+"---\n"+configuration, tc.args, tc.ports, tc.called))
			g.Expect(err).NotTo(HaveOccurred())
			port, err := m.fixedPort()
			if tc.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(port).To(Equal(tc.want))
		})
	}
}
