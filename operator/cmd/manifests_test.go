package main

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The operator accepts the arguments and variables in the manifests, and the names that it gives its objects are those in the
// manifests.
func TestManifestsAndOptionsAgree(t *testing.T) {
	for _, test := range []struct {
		name  string
		check func(*testing.T, options, string)
	}{
		{"default", func(t *testing.T, o options, text string) {
			c := certificatesOptions(o)
			if c.Secret.Namespace != "operator-system" {
				t.Errorf("the Secret is in namespace %q", c.Secret.Namespace)
			}
			for _, line := range []string{
				"- " + c.Secret.Name, "- " + c.MutatingWebhookConfiguration, "- " + c.ValidatingWebhookConfiguration, // resourceNames
				"name: " + c.MutatingWebhookConfiguration, "name: " + c.ValidatingWebhookConfiguration,
				"- " + leaseName,
			} {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("the manifests do not have %q", line)
				}
			}
			for _, dnsName := range withoutMetricsServerName(t, c.DNSNames) {
				if service, _, _ := strings.Cut(dnsName, "."); !strings.Contains(text, "kind: Service\nmetadata:") || !strings.Contains(text, "name: "+service+"\n") {
					t.Errorf("the manifests have no Service for %s", dnsName)
				}
			}
			if !o.leaderElection.enabled || !o.webhooks.enabled || o.metricsAddress == off || !o.metricsSecure {
				t.Errorf("not all is on: %+v", o)
			}
		}},
		{"default-cert-manager", func(t *testing.T, o options, text string) {
			for _, dnsName := range certificatesOptions(o).DNSNames {
				if !strings.Contains(text, "- "+dnsName+"\n") {
					t.Errorf("the Certificate is not for %s", dnsName)
				}
			}
			if !strings.Contains(text, "mountPath: "+o.webhooks.certPath+"\n") {
				t.Errorf("nothing is mounted at %s", o.webhooks.certPath)
			}
		}},
		{"namespaced", func(t *testing.T, o options, _ string) {
			if len(o.namespaces) != 1 || o.namespaces[0] != "operator-system" || o.webhooks.enabled || o.metricsAddress != off {
				t.Errorf("it does not stay in its namespace: %+v", o)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, manager := render(t, test.name)
			container := manager.Spec.Template.Spec.Containers[0]
			variables := map[string]string{namespaceVariable: ""}
			for _, variable := range container.Env {
				variables[variable.Name] = variable.Value
				if variable.ValueFrom != nil {
					variables[variable.Name] = map[string]string{
						"metadata.namespace": manager.Namespace, "spec.serviceAccountName": manager.Spec.Template.Spec.ServiceAccountName,
					}[variable.ValueFrom.FieldRef.FieldPath]
				}
			}
			options, err := parseOptions(container.Args, environment(variables), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			test.check(t, options, text)
			checkPorts(t, options, container)
			checkEnvironment(t, container)
			if !options.leaderElection.enabled || options.image != defaultImage {
				t.Errorf("leader election: %t, image %s; want true and the operator's default", options.leaderElection.enabled, options.image)
			}
		})
	}
}

// withoutMetricsServerName returns the names of Services. The ServiceMonitor has the other one.
func withoutMetricsServerName(t *testing.T, dnsNames []string) []string {
	t.Helper()
	content, err := build(t, "prometheus").AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte("serverName: "+metricsServerName+"\n")) || !slices.Contains(dnsNames, metricsServerName) {
		t.Errorf("the certificate is for %q, and Prometheus does not verify %s", dnsNames, metricsServerName)
	}
	return slices.DeleteFunc(slices.Clone(dnsNames), func(name string) bool { return name == metricsServerName })
}

// checkEnvironment fails the test unless the operator reads each variable of the container, and each variable for a namespace is
// set to the pod's own.
func checkEnvironment(t *testing.T, container corev1.Container) {
	t.Helper()
	for _, variable := range container.Env {
		switch variable.Name {
		case imageVariable, webhooksVariable:
		case namespaceVariable, watchVariable:
			if variable.ValueFrom == nil || variable.ValueFrom.FieldRef.FieldPath != "metadata.namespace" {
				t.Errorf("%s does not follow the pod's namespace", variable.Name)
			}
		case accountVariable:
			if variable.ValueFrom == nil || variable.ValueFrom.FieldRef.FieldPath != "spec.serviceAccountName" {
				t.Errorf("%s does not follow the pod's ServiceAccount", variable.Name)
			}
		default:
			t.Errorf("the operator does not read %s", variable.Name)
		}
	}
	if !slices.ContainsFunc(container.Env, func(variable corev1.EnvVar) bool { return variable.Name == imageVariable }) {
		t.Errorf("there is no %s to be set", imageVariable)
	}
}

// checkPorts fails the test unless the container names the ports that the operator listens on, and no others.
func checkPorts(t *testing.T, o options, container corev1.Container) {
	t.Helper()
	want := map[string]string{}
	for name, address := range map[string]string{"health": o.healthProbeAddress, "metrics": o.metricsAddress} {
		if address != off {
			want[name] = strings.TrimPrefix(address, ":")
		}
	}
	if o.webhooks.enabled {
		want["webhook"] = strconv.Itoa(o.webhooks.port)
	}
	got := map[string]string{}
	for _, port := range container.Ports {
		got[port.Name] = strconv.Itoa(int(port.ContainerPort))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-what the operator listens on +what the manifests name):\n%s", diff)
	}
}

// build returns the objects of a kustomization.
func build(t *testing.T, name string) resmap.ResMap {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "config", name))
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

// render returns the output of a kustomization, and the manager in it.
func render(t *testing.T, name string) (text string, manager *appsv1.Deployment) {
	t.Helper()
	content, err := build(t, name).AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(content, []byte("---\n")) {
		deployment := &appsv1.Deployment{}
		if bytes.Contains(document, []byte("kind: Deployment\n")) {
			if err := yaml.UnmarshalStrict(document, deployment); err != nil {
				t.Fatal(err)
			}
			manager = deployment
		}
	}
	if manager == nil {
		t.Fatal("there is no Deployment")
	}
	return string(content), manager
}
