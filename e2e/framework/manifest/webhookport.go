package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WebhookAddressFlag is the flag of the webhooks' address, for operators that have one.
const WebhookAddressFlag = "webhook-bind-address"

// defaultPort is the port of a Service that a webhook configuration means if it names none.
const defaultPort = 443

// FixedPort returns the port at which the operator serves its webhooks, or "" if the manager's arguments set their address, so that each
// replica can get another one. The manifests alone decide: asking the executable for its flags would run it.
func (m Set) FixedPort() (string, error) {
	_, container, err := m.Deployment()
	if err != nil {
		return "", err
	}
	if _, given := FlagValue(container.Args, WebhookAddressFlag); given {
		return "", nil
	}
	key, port := m.calledPort()
	service := &corev1.Service{}
	for _, object := range m.Select("Service") {
		if client.ObjectKeyFromObject(object) != key {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, service); err != nil {
			return "", fmt.Errorf("reading the Service %s of the webhooks: %w", key, err)
		}
	}
	if len(service.Spec.Ports) == 0 {
		return "", fmt.Errorf("the Service %s of the webhooks has no port", key)
	}
	at := max(0, slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == port }))
	target := service.Spec.Ports[at].TargetPort
	if target.Type == intstr.Int {
		return strconv.Itoa(int(cmp.Or(target.IntVal, service.Spec.Ports[at].Port))), nil
	}
	for _, p := range container.Ports {
		if p.Name == target.StrVal {
			return strconv.Itoa(int(p.ContainerPort)), nil
		}
	}
	return "", fmt.Errorf("the Service %s of the webhooks leads to the port %q, which the manager's container does not have", key, target.StrVal)
}

// calledPort returns the first Service of the manifests that webhooks are called through, and the port that the API server uses.
func (m Set) calledPort() (service client.ObjectKey, port int64) {
	service, port = m.WebhookServices()[0], defaultPort
	for _, object := range m.Select(append([]string{CRD}, WebhookConfigurations...)...) {
		for _, clientConfig := range clientConfigsOf(object) {
			called := clientConfig["service"].(map[string]any)
			if number, given := called["port"].(int64); given && keyOf(called) == service {
				port = number
			}
		}
	}
	return service, port
}
