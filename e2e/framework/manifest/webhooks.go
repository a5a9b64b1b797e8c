package manifest

import (
	"encoding/base64"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CRD is the kind of a CustomResourceDefinition.
const CRD = "CustomResourceDefinition"

// WebhookConfigurations are the kinds that make the API server call webhooks.
var WebhookConfigurations = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// Workloads are the kinds that make an operator run as an image, or lead to it when it does; as a process it needs neither.
var Workloads = []string{"Deployment", "Service"}

// HasWebhooks reports whether the manifests make the API server call webhooks.
func (m Set) HasWebhooks() bool { return len(m.Select(WebhookConfigurations...)) > 0 }

// HasConversions reports whether the API server calls webhooks to convert objects of the CustomResourceDefinitions.
func (m Set) HasConversions() bool {
	return slices.ContainsFunc(m.Select(CRD), func(d *unstructured.Unstructured) bool { return len(clientConfigsOf(d)) > 0 })
}

// WithoutWebhooks returns what installs the operator where its webhooks can't be called.
func (m Set) WithoutWebhooks() []*unstructured.Unstructured {
	return m.Without(slices.Concat(Workloads, WebhookConfigurations, []string{CRD})...)
}

// WithWebhooksAt returns what installs the operator with its webhooks at a port of an address of this machine. The configurations
// still name their Service, so the API server still asks for a certificate of the Service's name; but the Service leads to
// the address, and its port is the given one. The configurations trust the authority, unless it is nil.
func (m Set) WithWebhooksAt(address string, port int64, authority []byte) []*unstructured.Unstructured {
	services := m.WebhookServices()
	var objects []*unstructured.Unstructured
	for _, object := range m.Without("Deployment", CRD) {
		switch {
		case slices.Contains(WebhookConfigurations, object.GetKind()):
			object = calledAt(object, services, port, authority)
		case object.GetKind() == "Service" && slices.Contains(services, client.ObjectKeyFromObject(object)):
			object = leadingTo(address, object)
		case object.GetKind() == "Service":
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

// ConversionsAt returns the CustomResourceDefinitions whose objects the operator converts from one version to another, by a webhook
// at that port: see WithWebhooksAt.
func (m Set) ConversionsAt(port int64, authority []byte) Set {
	services := m.WebhookServices()
	var converted []*unstructured.Unstructured
	for _, d := range m.Select(CRD) {
		if len(clientConfigsOf(d)) > 0 {
			converted = append(converted, calledAt(d, services, port, authority))
		}
	}
	return New(converted...)
}

// Trusting returns the manifests with webhooks and conversions that trust the authority.
func (m Set) Trusting(authority []byte) Set {
	services := m.WebhookServices()
	var objects []*unstructured.Unstructured
	for _, object := range m.Objects() {
		if len(clientConfigsOf(object)) > 0 {
			object = calledAt(object, services, 0, authority)
		}
		objects = append(objects, object)
	}
	return New(objects...)
}

// calledAt returns a copy of an object that makes the API server call webhooks. It calls those of the Services at the port, unless that is
// zero, and trusts the authority, unless that is nil.
func calledAt(object *unstructured.Unstructured, services []client.ObjectKey, port int64, authority []byte) *unstructured.Unstructured {
	object = object.DeepCopy()
	for _, clientConfig := range clientConfigsOf(object) {
		service := clientConfig["service"].(map[string]any)
		if !slices.Contains(services, keyOf(service)) {
			continue
		}
		if port != 0 {
			service["port"] = port
		}
		if authority != nil {
			clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(authority)
		}
	}
	return object
}

// WebhookServices are the Services of the manifests that webhook configurations and CustomResourceDefinitions name.
func (m Set) WebhookServices() []client.ObjectKey {
	var named []client.ObjectKey
	for _, object := range m.Select(append([]string{CRD}, WebhookConfigurations...)...) {
		for _, clientConfig := range clientConfigsOf(object) {
			named = append(named, keyOf(clientConfig["service"].(map[string]any)))
		}
	}
	var keys []client.ObjectKey
	for _, service := range m.Select("Service") {
		if key := client.ObjectKeyFromObject(service); slices.Contains(named, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// clientConfigsOf returns the clientConfig of each webhook of a configuration, or of a CustomResourceDefinition, that names a Service.
func clientConfigsOf(object *unstructured.Unstructured) []map[string]any {
	var clientConfigs []map[string]any
	webhooks, _ := object.Object["webhooks"].([]any)
	conversion, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion", "webhook")
	for _, entry := range append(webhooks, conversion) {
		webhook, _ := entry.(map[string]any)
		clientConfig, _ := webhook["clientConfig"].(map[string]any)
		if _, ok := clientConfig["service"].(map[string]any); ok {
			clientConfigs = append(clientConfigs, clientConfig)
		}
	}
	return clientConfigs
}

func keyOf(service map[string]any) client.ObjectKey {
	namespace, _ := service["namespace"].(string)
	name, _ := service["name"].(string)
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// leadingTo returns a Service of the same name that leads to an address.
func leadingTo(address string, service *unstructured.Unstructured) *unstructured.Unstructured {
	object := service.DeepCopy()
	object.Object["spec"] = map[string]any{
		"type":         string(corev1.ServiceTypeExternalName),
		"externalName": address,
	}
	return object
}
