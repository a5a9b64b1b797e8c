package manifests

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// definedBy returns manifests with a CustomResourceDefinition that is converted in a way.
func definedBy(conversion map[string]any) Rendered {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gizmos.test.example.com"},
		"spec": map[string]any{"conversion": conversion},
	}}
	return Rendered{Loaded: map[string][]*Object{"default": {crd}}}
}

// A webhook converts objects in the way that the chapter's own does, and in no other.
func TestConversionIsTheChaptersOwn(t *testing.T) {
	g := NewWithT(t)
	by := func(service string) map[string]any {
		return map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": service}}}}
	}
	converting, err := AllowedBy("the operator of versions", definedBy(by("operator-webhook-service")))
	g.Expect(err).NotTo(HaveOccurred())
	plain, err := AllowedBy("the operator of 07-rbac", definedBy(map[string]any{"strategy": "None"}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Judge(definedBy(by("operator-webhook-service")), converting)).To(Succeed())
	g.Expect(Judge(definedBy(map[string]any{"strategy": "None"}), converting)).To(Succeed())
	g.Expect(Judge(definedBy(by("elsewhere")), converting)).To(MatchError(ContainSubstring("it is converted by a webhook")))
	g.Expect(Judge(definedBy(by("operator-webhook-service")), plain)).To(MatchError(ContainSubstring("it is converted by a webhook")))
}
