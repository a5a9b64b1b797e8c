package conformance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Only a write that mentions the new object lets watches fall behind: after a write about an earlier one, the operator might not see the
// new object at all. What is passed on is whole.
func TestLaggard(t *testing.T) {
	const deployments, memcacheds = "/apis/apps/v1/namespaces/a/deployments", "/apis/cache.example.com/v1alpha1/namespaces/a/memcacheds"
	for name, tc := range map[string]struct {
		method, path, body string
		behind             bool
	}{
		"an earlier object's child":           {http.MethodPost, deployments, `{"metadata":{"name":"canary-abcde"}}`, false},
		"an earlier object's status":          {http.MethodPatch, memcacheds + "/behind-abcde/status", `{}`, false},
		"the new object's child":              {http.MethodPost, deployments, `{"metadata":{"name":"x","ownerReferences":[{"name":"behind-vwxyz"}]}}`, true},
		"the new object's child, in Protobuf": {http.MethodPost, deployments, "k8s\x00\x0a\x0cbehind-vwxyz\x12", true},
		"the new object's status":             {http.MethodPatch, memcacheds + "/behind-vwxyz/status", `{}`, true},
		"an event about the new object":       {http.MethodPost, "/api/v1/namespaces/a/events", `{"regarding":{"name":"behind-vwxyz"}}`, false},
		"a read of the new object":            {http.MethodGet, memcacheds + "/behind-vwxyz", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resource := schema.GroupResource{Group: "cache.example.com", Resource: "memcacheds"}
			proxy := newLaggard()
			proxy.fallBehind(cutPoint{resource, 1}, "behind-vwxyz")
			var passed string
			handler := proxy.intercept(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				g.Expect(err).NotTo(HaveOccurred())
				passed = string(body)
			}))
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body)))
			g.Expect(passed).To(Equal(tc.body))
			if tc.behind {
				g.Expect(proxy.behind).To(Equal(resource))
			} else {
				g.Expect(proxy.behind).To(BeZero())
			}
		})
	}
}
