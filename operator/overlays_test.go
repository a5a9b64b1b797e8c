package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// overlay writes a kustomization with these lines, in which CONFIG is the path of config, and returns its name for render.
func overlay(t *testing.T, lines ...string) string {
	t.Helper()
	// kustomize resolves symbolic links, and takes only relative paths.
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs("config")
	if err == nil {
		config, err = filepath.EvalSymlinks(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	toConfig, err := filepath.Rel(directory, config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "CONFIG", filepath.ToSlash(toConfig))
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(config, directory)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// suffix is that of renamed.
const suffix = "-blue"

// renamed returns an overlay with another namespace, another prefix and a suffix.
func renamed(t *testing.T, resources ...string) string {
	t.Helper()
	lines := []string{"namespace: cache-system", "namePrefix: team-", "nameSuffix: " + suffix, "resources:"}
	for _, resource := range resources {
		lines = append(lines, "- CONFIG/"+resource)
	}
	return overlay(t, lines...)
}

// A word of a name, in any text. The names that config gives start with "operator-", also the namespace's.
var words = regexp.MustCompile(`[a-z0-9-]+`)

// oldNames returns where the objects still have names that config gives, and how many other names with the new prefix there are.
func oldNames(t *testing.T, objects manifests) (old []string, renamed int) {
	t.Helper()
	for _, object := range objects {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words.FindAllString(string(content), -1) {
			switch {
			case word == "operator-testbed": // the label that says what the operator is part of
			case strings.HasPrefix(word, "operator-"), strings.HasPrefix(word, "team-") && !strings.HasSuffix(word, suffix):
				old = append(old, fmt.Sprintf("%s %s: %s", object.GetKind(), object.GetName(), word))
			case strings.HasPrefix(word, "team-operator-"):
				renamed++
			}
		}
	}
	return old, renamed
}

// An overlay with another prefix, another namespace and a suffix has no old name in any field.
func TestOverlaysKeepNoOldName(t *testing.T) {
	for name, test := range map[string]struct {
		overlay func(*testing.T) string
		renamed int
	}{
		"default":        {func(t *testing.T) string { t.Helper(); return renamed(t, "default") }, 30},
		"namespaced":     {func(t *testing.T) string { t.Helper(); return renamed(t, "namespaced") }, 10},
		"prometheus":     {func(t *testing.T) string { t.Helper(); return renamed(t, "prometheus") }, 10},
		"network-policy": {func(t *testing.T) string { t.Helper(); return renamed(t, "network-policy") }, 2},
		"together":       {func(t *testing.T) string { t.Helper(); return renamed(t, "default", "prometheus", "network-policy") }, 50},
		"cert-manager":   {certManaged, 25},
	} {
		t.Run(name, func(t *testing.T) {
			old, renamed := oldNames(t, render(t, test.overlay(t)))
			for _, where := range old {
				t.Errorf("an old name: %s", where)
			}
			if renamed < test.renamed {
				t.Errorf("found %d new names, want at least %d: is the pattern correct?", renamed, test.renamed)
			}
		})
	}
}

// certManaged returns an overlay with another prefix and namespace, and with cert-manager one level above.
func certManaged(t *testing.T) string {
	t.Helper()
	return overlay(t, "resources:", "- CONFIG/"+filepath.ToSlash(renamed(t, "default")), "components:", "- CONFIG/cert-manager")
}

// The certificate of cert-manager is for the Services that the webhook configurations and the ServiceMonitor name.
func TestCertManagerFollowsTheNames(t *testing.T) {
	objects := render(t, certManaged(t))
	certificate := objectOf(t, objects, "Certificate")
	for _, client := range webhookClients(t, objects) {
		host := client.Service.Name + "." + client.Service.Namespace + ".svc"
		if content, _ := certificate.MarshalJSON(); !strings.Contains(string(content), `"`+host+`"`) {
			t.Errorf("the Certificate is not for %s", host)
		}
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if from := objectOf(t, objects, kind).GetAnnotations()["cert-manager.io/inject-ca-from"]; from != "cache-system/"+certificate.GetName() {
			t.Errorf("the %s trusts %q", kind, from)
		}
	}
}

// portLines set the port of the webhooks as the comment in config/webhook-port says.
func portLines(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("config", "webhook-port", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"components: [CONFIG/webhook-port]"}
	for line := range strings.Lines(string(content)) {
		if code, ok := strings.CutPrefix(line, "#   "); ok {
			lines = append(lines, strings.TrimSuffix(code, "\n"))
		}
	}
	return lines
}

// One value in an overlay moves the webhooks to another port, with and without cert-manager: the flag, the container, the Service and
// the network policy.
func TestWebhookPort(t *testing.T) {
	for _, name := range []string{"default", "default-cert-manager"} {
		t.Run(name, func(t *testing.T) {
			lines := append(portLines(t), "resources: [CONFIG/"+name+", CONFIG/network-policy]")
			objects := render(t, overlay(t, lines...))
			for _, object := range objects {
				if content, _ := object.MarshalJSON(); strings.Contains(string(content), "9443") || object.GetName() == "webhook-port" {
					t.Errorf("%s %s is there, or has the old port", object.GetKind(), object.GetName())
				}
			}
			manager := one[appsv1.Deployment](t, objects, "Deployment")
			container := manager.Spec.Template.Spec.Containers[0]
			if !slices.Contains(container.Args, "--webhook-bind-address=:10250") {
				t.Errorf("the flags are %q", container.Args)
			}
			if !slices.Contains(container.Ports, corev1.ContainerPort{Name: "webhook", ContainerPort: 10250, Protocol: corev1.ProtocolTCP}) {
				t.Errorf("the ports are %+v", container.Ports)
			}
			for _, service := range all[corev1.Service](t, objects, "Service") {
				checkService(t, service, manager)
			}
			if diff := cmp.Diff([]string{"metrics", "webhook"}, openPorts(t, objects)); diff != "" {
				t.Errorf("ports that the NetworkPolicies open (-want +got):\n%s", diff)
			}
		})
	}
}

// openPorts returns the sorted names of the ports that the NetworkPolicies open.
func openPorts(t *testing.T, objects manifests) []string {
	t.Helper()
	var open []string
	for _, policy := range all[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy") {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				open = append(open, port.Port.String())
			}
		}
	}
	slices.Sort(open)
	return open
}

// One component leaves all users to the cluster.
func TestOmitRunAsUser(t *testing.T) {
	for _, name := range []string{"default", "namespaced", "default-cert-manager"} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, overlay(t, "resources: [CONFIG/"+name+"]", "components: [CONFIG/omit-run-as-user]"))
			pod := one[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec
			if pod.SecurityContext.RunAsUser != nil || pod.SecurityContext.RunAsGroup != nil || !*pod.SecurityContext.RunAsNonRoot {
				t.Errorf("the manager's security context is %+v", pod.SecurityContext)
			}
			if !slices.Contains(pod.Containers[0].Args, "--omit-run-as-user") {
				t.Errorf("the flags are %q", pod.Containers[0].Args)
			}
		})
	}
}

// The manager runs on Linux nodes only, and service meshes add no container to its pods, which have to be restricted.
func TestNodesAndMeshes(t *testing.T) {
	for _, name := range []string{"default", "namespaced", "default-cert-manager"} {
		t.Run(name, func(t *testing.T) {
			template := one[appsv1.Deployment](t, render(t, name), "Deployment").Spec.Template
			if diff := cmp.Diff(map[string]string{corev1.LabelOSStable: string(corev1.Linux)}, template.Spec.NodeSelector); diff != "" {
				t.Errorf("node selector (-want +got):\n%s", diff)
			}
			if template.Labels["sidecar.istio.io/inject"] != "false" || template.Annotations["linkerd.io/inject"] != "disabled" {
				t.Errorf("labels %v and annotations %v", template.Labels, template.Annotations)
			}
		})
	}
}

// The ClusterRoles that a cluster administrator applies once, for tenants, have all permissions on which a tenant's installation depends,
// apart from those that the cluster's own role admin has, and are added to that role.
func TestTenantsMayGrantWhatTheOperatorNeeds(t *testing.T) {
	granted := map[string]bool{}
	for _, r := range roles(t, render(t, "tenants")) {
		if r.kind != "ClusterRole" {
			t.Errorf("%s %s is not a ClusterRole", r.kind, r.name)
		}
		for _, rule := range r.rules {
			granted[ruleText(rule)] = true
		}
	}
	for _, object := range render(t, "tenants") {
		if object.GetKind() == "ClusterRole" && object.GetLabels()["rbac.authorization.k8s.io/aggregate-to-admin"] != "true" {
			t.Errorf("admin does not contain %s", object.GetName())
		}
	}
	for _, r := range roles(t, render(t, "namespaced")) {
		if r.name == "operator-leader-election-role" { // leases and events, which admin may write anyway
			continue
		}
		for _, rule := range r.rules {
			if !granted[ruleText(rule)] {
				t.Errorf("%s grants %s, which a tenant may not grant", r.name, ruleText(rule))
			}
		}
	}
}
