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

// TestKubeconfigs has what people have in KUBECONFIG.
func TestKubeconfigs(t *testing.T) {
	whole := serve(t, "Redis", "somebody", "v1.37.0")
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(`{"apiVersion":"v1","kind":"Config",`+text+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := write("empty", `"contexts":[]`)
	undecided := write("undecided", `"contexts":[{"name":"b","context":{"cluster":"k"}},{"name":"a","context":{"cluster":"k"}}]`)
	contextOnly := write("context", `"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}]`)
	for name, test := range map[string]struct{ kubeconfig, want, refusal string }{
		"several files":            {empty + ":" + whole, whole, ""},
		"a file that is not there": {filepath.Join(directory, "none") + ":" + whole, whole, ""},
		"none":                     {filepath.Join(directory, "none"), "", "set KUBECONFIG to its kubeconfig"},
		"an empty one":             {empty, "", "there is no kubeconfig with a context: set KUBECONFIG"},
		"no current context":       {undecided, "", "has the contexts a, b, and none of them is the current one: choose it with kubectl config use-context NAME"},
		"a context in two files":   {contextOnly + ":" + whole, "", "its context c is in " + contextOnly + ", but not its cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("KUBECONFIG", test.kubeconfig)
			// In a pod, client-go has another idea of what is meant.
			t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			got, err := existing.NewProvider().Create(t.Context())
			if test.refusal != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.refusal)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(test.want))
		})
	}
}
