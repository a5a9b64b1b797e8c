package manifest

import (
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kindsAndNames are the objects that matter to webhooks, as kind/name.
func kindsAndNames(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, o := range objects {
		list = append(list, o.GetKind()+"/"+o.GetName())
	}
	return list
}

// servicesOf returns the clientConfig.service of each webhook in a configuration; a webhook with a URL has none.
func servicesOf(configuration *unstructured.Unstructured) []map[string]any {
	var services []map[string]any
	for _, clientConfig := range clientConfigsOf(configuration) {
		services = append(services, clientConfig["service"].(map[string]any))
	}
	return services
}

func render(t *testing.T, dir string) Set {
	t.Helper()
	m, err := Render(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWebhooksLeadToThePort(t *testing.T) {
	g := NewWithT(t)
	m := render(t, "testdata/webhooks")
	objects := m.WithWebhooksAt("192.0.2.1", 12345, nil)
	g.Expect(kindsAndNames(objects)).To(ConsistOf("Namespace/gatekeeper-system", "ServiceAccount/gatekeeper", "Service/gatekeeper-webhook",
		"MutatingWebhookConfiguration/gatekeeper", "ValidatingWebhookConfiguration/gatekeeper"))
	g.Expect(objects[0].GetKind()).To(Equal("Namespace"), "the order is kustomize's")

	var ports []any
	for _, object := range objects {
		if object.GetKind() == "Service" {
			g.Expect(object.Object["spec"]).To(Equal(map[string]any{"type": "ExternalName", "externalName": "192.0.2.1"}))
			g.Expect(object.GetNamespace()).To(Equal("gatekeeper-system"))
		}
		for _, service := range servicesOf(object) {
			ports = append(ports, service["port"])
			g.Expect(service).To(HaveKey("name"))
		}
	}
	g.Expect(ports).To(Equal([]any{int64(12345), int64(12345), int64(12345), int64(443)}),
		"three webhooks name the operator's Service, the last one somebody else's")

	for _, object := range m.Select("ValidatingWebhookConfiguration") {
		g.Expect(servicesOf(object)[0]["port"]).To(Equal(int64(443)), "the manifests themselves stay as they are")
	}
}

func TestConversionsLeadToThePort(t *testing.T) {
	g := NewWithT(t)
	m := render(t, "testdata/issued")
	g.Expect(m.HasConversions()).To(BeTrue())
	g.Expect(render(t, "testdata/webhooks").HasConversions()).To(BeFalse())
	converted := m.ConversionsAt(12345, []byte("the authority")).Objects()
	g.Expect(kindsAndNames(converted)).To(Equal([]string{"CustomResourceDefinition/gizmos.test.example.com"}), "the operator converts nothing else")
	g.Expect(clientConfigsOf(converted[0])).To(ConsistOf(map[string]any{
		"service": map[string]any{
			"namespace": "gatekeeper-system", "name": "gatekeeper-webhook", "path": "/convert", "port": int64(12345),
		},
		"caBundle": base64.StdEncoding.EncodeToString([]byte("the authority")),
	}))
	g.Expect(New(append(converted, m.Select("Service")...)...).WebhookServices()).To(
		ConsistOf(client.ObjectKey{Namespace: "gatekeeper-system", Name: "gatekeeper-webhook"}), "also where there is no other webhook")
}

func TestWithoutWebhooks(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render(t, "testdata/webhooks").HasWebhooks()).To(BeTrue())
	g.Expect(Set{objects: render(t, "testdata/webhooks").WithoutWebhooks()}.HasWebhooks()).To(BeFalse())
	g.Expect(kindsAndNames(render(t, "testdata/webhooks").WithoutWebhooks())).To(ConsistOf("Namespace/gatekeeper-system", "ServiceAccount/gatekeeper"))
}

func TestAWebhookWithAURLIsNoMatterOfOurs(t *testing.T) {
	g := NewWithT(t)
	url := map[string]any{"clientConfig": map[string]any{"url": "https://example.com"}}
	configuration := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{url, "nonsense"}}}
	configuration.SetKind("ValidatingWebhookConfiguration")
	m := Set{objects: []*unstructured.Unstructured{configuration}}
	g.Expect(m.WebhookServices()).To(BeEmpty())
	g.Expect(m.WithWebhooksAt("127.0.0.1", 1, nil)[0].Object).To(Equal(configuration.Object))
}

func TestWebhooksTrustTheAuthority(t *testing.T) {
	g := NewWithT(t)
	var bundles []any
	for _, object := range render(t, "testdata/webhooks").WithWebhooksAt("127.0.0.1", 12345, []byte("the authority")) {
		for _, clientConfig := range clientConfigsOf(object) {
			bundles = append(bundles, clientConfig["caBundle"])
		}
	}
	ours := base64.StdEncoding.EncodeToString([]byte("the authority"))
	g.Expect(bundles).To(Equal([]any{ours, ours, ours, nil}), "three webhooks name the operator's Service, the last one somebody else's")
}

// Where webhooks are called as in any cluster, only the authority is set, and only for the operator's own Service.
func TestTrusting(t *testing.T) {
	g := NewWithT(t)
	m := render(t, "testdata/webhooks")
	trusting := m.Trusting([]byte("authority"))
	g.Expect(kindsAndNames(trusting.Objects())).To(Equal(kindsAndNames(m.Objects())))
	var bundles []any
	for i, object := range trusting.Objects() {
		g.Expect(servicesOf(object)).To(Equal(servicesOf(m.Objects()[i])))
		for _, clientConfig := range clientConfigsOf(object) {
			bundles = append(bundles, clientConfig["caBundle"])
		}
	}
	ours := base64.StdEncoding.EncodeToString([]byte("authority"))
	g.Expect(bundles).To(ContainElement(ours))
	g.Expect(bundles[len(bundles)-1]).To(BeNil(), "it is somebody else's")
}
