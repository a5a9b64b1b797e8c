package runner

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configurations are the kinds that make the API server call webhooks.
var configurations = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// workloads are the kinds that make an operator run as an image, or lead to it when it does; as a process it needs neither.
var workloads = []string{"Deployment", "Service"}

// RemoveWebhooks deletes the webhook configurations that [Start] has installed: for an operator that stops while its cluster stays up,
// where requests would otherwise be refused because no webhook answers.
func (o *Operator) RemoveWebhooks(ctx context.Context) error {
	if !o.served {
		return nil
	}
	for _, configuration := range o.options.Manifests.Select(configurations...) {
		if err := client.IgnoreNotFound(o.admin.Delete(ctx, configuration)); err != nil {
			return fmt.Errorf("removing %s %s: %w", configuration.GetKind(), configuration.GetName(), err)
		}
	}
	return nil
}

// HasWebhooks reports whether the manifests make the API server call webhooks.
func (m Manifests) HasWebhooks() bool { return len(m.Select(configurations...)) > 0 }

// withoutWebhooks returns what installs the operator where its webhooks can't be called.
func (m Manifests) withoutWebhooks() []*unstructured.Unstructured {
	return m.Without(slices.Concat(workloads, configurations, []string{definition})...)
}

// withWebhooksAt returns what installs the operator with its webhooks at a port of this machine's loopback. The configurations
// still name their Service, so the API server still asks for a certificate of the Service's name; but the Service leads to
// 127.0.0.1, and its port is the given one. The configurations trust the authority, unless it is nil.
func (m Manifests) withWebhooksAt(port int64, authority []byte) []*unstructured.Unstructured {
	services := m.webhookServices()
	var objects []*unstructured.Unstructured
	for _, object := range m.Without("Deployment", definition) {
		key := client.ObjectKeyFromObject(object)
		switch {
		case slices.Contains(configurations, object.GetKind()):
			object = object.DeepCopy()
			for _, clientConfig := range clientConfigsOf(object) {
				service := clientConfig["service"].(map[string]any)
				if !slices.Contains(services, keyOf(service)) {
					continue
				}
				service["port"] = port
				if authority != nil {
					clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(authority)
				}
			}
		case object.GetKind() == "Service" && slices.Contains(services, key):
			object = toLocalhost(object)
		case object.GetKind() == "Service":
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

// webhookServices are the Services of the manifests that webhook configurations name.
func (m Manifests) webhookServices() []client.ObjectKey {
	var named []client.ObjectKey
	for _, configuration := range m.Select(configurations...) {
		for _, service := range servicesOf(configuration) {
			named = append(named, keyOf(service))
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

// servicesOf returns the clientConfig.service of each webhook in a configuration; a webhook with a URL has none.
func servicesOf(configuration *unstructured.Unstructured) []map[string]any {
	var services []map[string]any
	for _, clientConfig := range clientConfigsOf(configuration) {
		services = append(services, clientConfig["service"].(map[string]any))
	}
	return services
}

// clientConfigsOf returns the clientConfig of each webhook in a configuration that names a Service.
func clientConfigsOf(configuration *unstructured.Unstructured) []map[string]any {
	var clientConfigs []map[string]any
	webhooks, _ := configuration.Object["webhooks"].([]any)
	for _, entry := range webhooks {
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

// toLocalhost returns a Service of the same name that leads to this machine.
func toLocalhost(service *unstructured.Unstructured) *unstructured.Unstructured {
	object := service.DeepCopy()
	object.Object["spec"] = map[string]any{
		"type":         string(corev1.ServiceTypeExternalName),
		"externalName": "127.0.0.1", // not localhost, which may be ::1 as well
	}
	return object
}
