package existing_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster/existing"
)

// serve answers a list of CRDs with one of that kind and label and a list of nodes with one whose kubelet has that version, and
// returns the kubeconfig that leads there, as $KUBECONFIG does.
func serve(t *testing.T, kind, partOf, kubelet string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/nodes" {
			fmt.Fprintf(w, `{"apiVersion":"v1","kind":"NodeList","items":[{"status":{"nodeInfo":{"kubeletVersion":%q}}}]}`, kubelet)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinitionList","items":[`+
			`{"metadata":{"name":"memcacheds.cache.example.com","labels":{"app.kubernetes.io/part-of":%q}},"spec":{"names":{"kind":%q}}}]}`, partOf, kind)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"k","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"k"}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	return path
}

func TestCreate(t *testing.T) {
	for name, tc := range map[string]struct{ kind, partOf, refusal string }{
		"ours is welcome":            {"Memcached", "operator-testbed", ""},
		"another kind does not care": {"Redis", "somebody", ""},
		"a foreign one is refused":   {"Memcached", "somebody", "somebody else's CustomResourceDefinition memcacheds.cache.example.com is installed there"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kubeconfig := serve(t, tc.kind, tc.partOf, "v1.37.0")
			p := existing.NewProvider()
			got, err := p.Create(t.Context())
			if tc.refusal != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.refusal)))
				g.Expect(p.KubernetesRestConfig()).To(BeNil())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(kubeconfig))
			g.Expect(p.GetKubectlContext()).To(Equal("c"))
			g.Expect(p.KubernetesRestConfig()).NotTo(BeNil())
		})
	}
}

func TestRunsPods(t *testing.T) {
	for kubelet, runs := range map[string]bool{"v1.37.0": true, "kwok-v0.8.0": false} {
		t.Run(kubelet, func(t *testing.T) {
			g := NewWithT(t)
			serve(t, "Redis", "somebody", kubelet)
			p := existing.NewProvider()
			_, err := p.Create(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.RunsPods()).To(Equal(runs))
		})
	}
}

func TestCreateWithoutAnAnswer(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err := existing.NewProvider().Create(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("set KUBECONFIG to its kubeconfig")))
}
