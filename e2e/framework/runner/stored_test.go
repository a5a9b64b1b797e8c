package runner_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// versioned returns the CustomResourceDefinition of tickets with these versions, which are all served. The last one is the storage
// version.
func versioned(t *testing.T, versions ...string) manifest.Set {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "tickets.test.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "test.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Ticket", ListKind: "TicketList", Plural: "tickets", Singular: "ticket"},
		},
	}
	for i, name := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == len(versions)-1,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.New(&unstructured.Unstructured{Object: content})
}

// ticket is an object that a version of the API serves.
func ticket(version, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("test.example.com/" + version)
	object.SetKind("Ticket")
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

// versionRemoved replaces a CustomResourceDefinition by one that lacks the version in which objects may be stored. That is possible while
// there are none, and deletes nothing.
func (h *gatehouse) versionRemoved(t *testing.T) {
	const refusal = "CustomResourceDefinition tickets.test.example.com can't be replaced by one without v2, in which objects may be stored"
	g := NewWithT(t)
	both, old := versioned(t, "v1", "v2"), versioned(t, "v1")
	defined := func() *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(h.client.Get(t.Context(), client.ObjectKey{Name: "tickets.test.example.com"}, crd)).To(Succeed())
		return crd
	}
	g.Expect(install.CRDs(t.Context(), h.options.Config, both)).To(Succeed())
	first := defined()
	g.Expect(first.Status.StoredVersions).To(Equal([]string{"v2"}))

	// An object in the way is named, and it and the definition stay as they are.
	for i := range 5 {
		g.Expect(h.client.Create(t.Context(), ticket("v2", fmt.Sprint("seat-", i)))).To(Succeed())
	}
	err := install.CRDs(t.Context(), h.options.Config, old)
	g.Expect(err).To(MatchError(Equal(refusal + " (tickets default/seat-0, default/seat-1, default/seat-2, 2 more): delete them, or use another cluster")))
	g.Expect(defined().Generation).To(Equal(first.Generation), "expected the refusal to change nothing")
	g.Expect(h.client.DeleteAllOf(t.Context(), ticket("v2", ""), client.InNamespace("default"))).To(Succeed())

	// So does an object that is created after the first look.
	meanwhile := rest.CopyConfig(h.options.Config)
	var once sync.Once
	meanwhile.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/tickets") {
				once.Do(func() { g.Expect(h.client.Create(t.Context(), ticket("v2", "late"))).To(Succeed()) })
			}
			return answer, err
		})
	})
	g.Expect(install.CRDs(t.Context(), meanwhile, old)).To(MatchError(Equal(refusal + " (tickets default/late): delete them, or use another cluster")))
	g.Expect(defined().Spec).To(Equal(first.Spec), "expected the refusal to leave the definition as it was")
	g.Expect(h.client.Delete(t.Context(), ticket("v2", "late"))).To(Succeed())

	// Without objects, nothing is in the way.
	for range 5 {
		g.Expect(install.CRDs(t.Context(), h.options.Config, old)).To(Succeed())
		present := defined()
		g.Expect(present.Status.StoredVersions).To(Equal([]string{"v1"}))
		g.Expect(present.Spec.Versions).To(HaveExactElements(HaveField("Name", "v1")))
		g.Expect(present.UID).To(Equal(first.UID), "expected the definition to be replaced in place")
		g.Expect(h.client.Create(t.Context(), ticket("v1", "seat"))).To(Succeed())
		g.Expect(h.client.Delete(t.Context(), ticket("v1", "seat"))).To(Succeed())
		g.Expect(install.CRDs(t.Context(), h.options.Config, both)).To(Succeed())
		g.Expect(h.client.Create(t.Context(), ticket("v2", "seat"))).To(Succeed())
		g.Expect(h.client.Delete(t.Context(), ticket("v2", "seat"))).To(Succeed())
	}
}

// roundTripper is a function as an [http.RoundTripper].
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
