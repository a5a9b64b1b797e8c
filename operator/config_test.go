package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// manifests are the objects that a kustomization below config renders.
type manifests []*unstructured.Unstructured

// render renders a kustomization.
func render(t *testing.T, name string) manifests {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("config", name))
	if err != nil {
		t.Fatal(err)
	}
	var result manifests
	for _, resource := range resources.Resources() {
		object := &unstructured.Unstructured{}
		content, err := resource.MarshalJSON()
		if err == nil {
			err = object.UnmarshalJSON(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		result = append(result, object)
	}
	return result
}

// all returns the objects of a kind as their Go type.
func all[T any](t *testing.T, m manifests, kind string) []T {
	t.Helper()
	var objects []T
	for _, object := range m {
		if object.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		objects = append(objects, typed)
	}
	return objects
}

// one returns the only object of a kind.
func one[T any](t *testing.T, m manifests, kind string) T {
	t.Helper()
	objects := all[T](t, m, kind)
	if len(objects) != 1 {
		t.Fatalf("there are %d %ss, want one", len(objects), kind)
	}
	return objects[0]
}

// kustomizations returns every kustomization below config that can be installed on its own.
func kustomizations(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("config", "*", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "kind: "+types.ComponentKind) {
			names = append(names, filepath.Base(filepath.Dir(path)))
		}
	}
	if !slices.Contains(names, "default") || !slices.Contains(names, "namespaced") {
		t.Fatalf("found %q", names)
	}
	return names
}

// Each kustomization renders, grants no unnecessary permission, and runs nothing that a restrictive cluster refuses.
func TestEveryKustomization(t *testing.T) {
	for _, name := range kustomizations(t) {
		t.Run(name, func(t *testing.T) {
			objects := render(t, name)
			if len(objects) == 0 {
				t.Fatal("it renders to nothing")
			}
			for _, role := range roles(t, objects) {
				for _, rule := range role.rules {
					for _, complaint := range tooBroad(rule) {
						t.Errorf("%s %s: %s", role.kind, role.name, complaint)
					}
				}
			}
			for _, deployment := range all[appsv1.Deployment](t, objects, "Deployment") {
				checkRestricted(t, &deployment.Spec.Template)
			}
			for _, namespace := range all[corev1.Namespace](t, objects, "Namespace") {
				if namespace.Labels[api.EnforceLevelLabel] != string(api.LevelRestricted) {
					t.Errorf("the Namespace %s does not enforce the restricted Pod Security level", namespace.Name)
				}
			}
		})
	}
}

type role struct {
	kind, namespace, name string
	rules                 []rbacv1.PolicyRule
}

// roles returns all Roles and ClusterRoles.
func roles(t *testing.T, m manifests) []role {
	t.Helper()
	var found []role
	for _, r := range all[rbacv1.Role](t, m, "Role") {
		found = append(found, role{"Role", r.Namespace, r.Name, r.Rules})
	}
	for _, r := range all[rbacv1.ClusterRole](t, m, "ClusterRole") {
		found = append(found, role{"ClusterRole", "", r.Name, r.Rules})
	}
	return found
}

// tooBroad returns which permissions of a rule are too broad.
func tooBroad(rule rbacv1.PolicyRule) []string {
	var complaints []string
	for _, values := range [][]string{rule.Verbs, rule.Resources, rule.APIGroups, rule.NonResourceURLs} {
		if slices.ContainsFunc(values, func(value string) bool { return strings.Contains(value, "*") }) {
			complaints = append(complaints, "a wildcard")
		}
	}
	for _, verb := range []string{"escalate", "bind", "impersonate"} {
		if slices.Contains(rule.Verbs, verb) {
			complaints = append(complaints, verb)
		}
	}
	named := []string{"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	for _, resource := range rule.Resources {
		switch {
		case slices.Contains(named, resource) && len(rule.ResourceNames) == 0 && !slices.Equal(rule.Verbs, []string{"create"}):
			complaints = append(complaints, resource+" that are not named")
		case strings.HasPrefix(resource, "pods/"):
			complaints = append(complaints, resource)
		}
	}
	return complaints
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name string
		rule rbacv1.PolicyRule
		want []string
	}{
		{"fine", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}}, nil},
		{"all verbs", rbacv1.PolicyRule{Verbs: []string{"*"}, Resources: []string{"deployments"}}, []string{"a wildcard"}},
		{"all groups", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"*"}}, []string{"a wildcard"}},
		{"all subresources", rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{"*/status"}}, []string{"a wildcard"}},
		{"escalation", rbacv1.PolicyRule{Verbs: []string{"escalate"}, Resources: []string{"roles"}}, []string{"escalate"}},
		{"all secrets", rbacv1.PolicyRule{Verbs: []string{"get", "create"}, Resources: []string{"secrets"}}, []string{"secrets that are not named"}},
		{"a new secret", rbacv1.PolicyRule{Verbs: []string{"create"}, Resources: []string{"secrets"}}, nil},
		{"one secret", rbacv1.PolicyRule{Verbs: []string{"get"}, Resources: []string{"secrets"}, ResourceNames: []string{"a"}}, nil},
		{"execution", rbacv1.PolicyRule{Verbs: []string{"create"}, Resources: []string{"pods/exec"}}, []string{"pods/exec"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, tooBroad(test.rule)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checkRestricted fails the test if pods of the template would not meet the restricted Pod Security Standard, or run with more
// than they need.
func checkRestricted(t *testing.T, template *corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
		t.Errorf("Pod Security: %s", result.ForbiddenDetail())
	}
	if user := template.Spec.SecurityContext.RunAsUser; user == nil || *user != 65532 {
		t.Error("the pod does not say that it runs as user 65532")
	}
	for _, container := range template.Spec.Containers {
		if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
			t.Errorf("the container %s can write to its root file system", container.Name)
		}
		if container.LivenessProbe == nil || container.ReadinessProbe == nil {
			t.Errorf("the container %s is not probed", container.Name)
		}
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := container.Resources.Requests[resource], container.Resources.Limits[resource]
			if request.IsZero() || request.Cmp(limit) >= 0 {
				t.Errorf("the container %s has no request for %s below its limit", container.Name, resource)
			}
		}
	}
}

// Every reference from one object to another, by name, is correct.
func TestReferencesResolve(t *testing.T) {
	for _, name := range []string{"default", "default-cert-manager", "namespaced"} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, name)
			rolesThere, accounts, services, used := sets.New[string](), sets.New[string](), sets.New[string](), sets.New[string]()
			for _, r := range roles(t, objects) {
				rolesThere.Insert(r.kind + " " + r.namespace + "/" + r.name)
			}
			for _, account := range all[corev1.ServiceAccount](t, objects, "ServiceAccount") {
				accounts.Insert(account.Namespace + "/" + account.Name)
			}
			manager := one[appsv1.Deployment](t, objects, "Deployment")
			template := manager.Spec.Template
			for _, service := range all[corev1.Service](t, objects, "Service") {
				services.Insert(service.Namespace + "/" + service.Name)
				checkService(t, service, manager)
			}
			if !accounts.Has(manager.Namespace + "/" + template.Spec.ServiceAccountName) {
				t.Errorf("the manager's ServiceAccount %s is not there", template.Spec.ServiceAccountName)
			}
			check := func(binding metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
				namespace := binding.Namespace
				if ref.Kind == "ClusterRole" {
					namespace = ""
				}
				reference := ref.Kind + " " + namespace + "/" + ref.Name
				used.Insert(reference)
				if !rolesThere.Has(reference) {
					t.Errorf("the binding %s names the %s, which is not there", binding.Name, reference)
				}
				for _, subject := range subjects {
					if !accounts.Has(subject.Namespace + "/" + subject.Name) {
						t.Errorf("the binding %s names the ServiceAccount %s/%s, which is not there", binding.Name, subject.Namespace, subject.Name)
					}
				}
			}
			for _, b := range all[rbacv1.RoleBinding](t, objects, "RoleBinding") {
				check(b.ObjectMeta, b.RoleRef, b.Subjects)
			}
			for _, b := range all[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
				check(b.ObjectMeta, b.RoleRef, b.Subjects)
			}
			for reference := range rolesThere {
				// These are for users.
				forUsers := strings.Contains(reference, "operator-memcached-") || strings.HasSuffix(reference, "operator-metrics-reader")
				if forUsers == used.Has(reference) {
					t.Errorf("the %s is bound: %v", reference, !forUsers)
				}
			}
			for _, config := range webhookClients(t, objects) {
				if reference := config.Service.Namespace + "/" + config.Service.Name; !services.Has(reference) {
					t.Errorf("a webhook names the Service %s, which is not there", reference)
				}
			}
		})
	}
}

// checkService fails the test if the Service does not select the manager's pods.
func checkService(t *testing.T, service corev1.Service, manager appsv1.Deployment) {
	t.Helper()
	for key, value := range service.Spec.Selector {
		if manager.Spec.Template.Labels[key] != value {
			t.Errorf("the Service %s selects %s=%s, which the manager's pods do not have", service.Name, key, value)
		}
	}
	for _, port := range service.Spec.Ports {
		if port.TargetPort.Type != intstr.String || !slices.ContainsFunc(manager.Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal }) {
			t.Errorf("the Service %s leads to the port %s, which the manager's pods do not have", service.Name, port.TargetPort.String())
		}
	}
}

func webhookClients(t *testing.T, m manifests) []admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	var clients []admissionregistrationv1.WebhookClientConfig
	for _, configuration := range all[admissionregistrationv1.MutatingWebhookConfiguration](t, m, "MutatingWebhookConfiguration") {
		for _, webhook := range configuration.Webhooks {
			clients = append(clients, webhook.ClientConfig)
		}
	}
	for _, configuration := range all[admissionregistrationv1.ValidatingWebhookConfiguration](t, m, "ValidatingWebhookConfiguration") {
		for _, webhook := range configuration.Webhooks {
			clients = append(clients, webhook.ClientConfig)
		}
	}
	return clients
}

// The operator may change exactly the webhook configurations that are installed.
func TestWebhookConfigurationsAreNamed(t *testing.T) {
	objects := render(t, "default")
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		var named, installed []string
		for _, r := range roles(t, objects) {
			for _, rule := range r.rules {
				if slices.Contains(rule.Resources, strings.ToLower(kind)+"s") {
					named = append(named, rule.ResourceNames...)
				}
			}
		}
		for _, object := range objects {
			if object.GetKind() == kind {
				installed = append(installed, object.GetName())
			}
		}
		if len(installed) != 1 || !slices.Equal(named, installed) {
			t.Errorf("%s: %q are named, %q are installed", kind, named, installed)
		}
	}
}

// With cert-manager, the operator has no permission for any Secret or webhook configuration.
func TestCertManagerTakesTheRights(t *testing.T) {
	for _, r := range roles(t, render(t, "default-cert-manager")) {
		for _, rule := range r.rules {
			for _, resource := range rule.Resources {
				if resource == "secrets" || strings.HasSuffix(resource, "webhookconfigurations") {
					t.Errorf("%s %s grants %q on %s", r.kind, r.name, rule.Verbs, resource)
				}
			}
		}
	}
}

// Permissions in a namespace are enough to install the operator there.
func TestNamespacedInstallStaysInItsNamespace(t *testing.T) {
	for _, object := range render(t, "namespaced") {
		if object.GetNamespace() != "operator-system" {
			t.Errorf("%s %s is in no namespace, or in another", object.GetKind(), object.GetName())
		}
	}
}

// The manifests describe the manager's pods correctly to the kubelet, Prometheus and the network. Tests in cmd compare the ports
// with the flags.
func TestPortsAndProbes(t *testing.T) {
	objects := render(t, "default")
	manager := one[appsv1.Deployment](t, objects, "Deployment")
	container := manager.Spec.Template.Spec.Containers[0]
	numbers := map[string]int32{}
	for _, port := range container.Ports {
		numbers[port.Name] = port.ContainerPort
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port != intstr.FromString("health") {
			t.Errorf("a probe asks %+v, want %s at the port health", probe.HTTPGet, path)
		}
	}

	services := all[corev1.Service](t, objects, "Service")
	monitor := objectOf(t, render(t, "prometheus"), "ServiceMonitor")
	selected := selectedBy(t, monitor, "spec", "selector", "matchLabels")
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("the ServiceMonitor has the endpoints %v, want one: %v", endpoints, err)
	}
	endpoint := endpoints[0].(map[string]any)
	var scraped []string
	for _, service := range services {
		if !selected.Matches(labels.Set(service.Labels)) || service.Namespace != monitor.GetNamespace() {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Name == endpoint["port"] {
				scraped = append(scraped, service.Name+" "+port.TargetPort.String())
			}
		}
	}
	if !slices.Equal(scraped, []string{"operator-controller-manager-metrics-service metrics"}) || endpoint["path"] != "/metrics" || endpoint["scheme"] != "https" {
		t.Errorf("Prometheus scrapes %q at %v by %v", scraped, endpoint["path"], endpoint["scheme"])
	}

	allowed := map[string]string{}
	for _, policy := range all[networkingv1.NetworkPolicy](t, render(t, "network-policy"), "NetworkPolicy") {
		pods, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil || !pods.Matches(labels.Set(manager.Spec.Template.Labels)) || policy.Namespace != manager.Namespace {
			t.Errorf("the NetworkPolicy %s is not about the manager's pods: %v", policy.Name, err)
		}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				allowed[policy.Name] = port.Port.StrVal
				if numbers[port.Port.StrVal] == 0 {
					t.Errorf("the NetworkPolicy %s opens the port %s, which the manager's pods do not have", policy.Name, port.Port.String())
				}
			}
		}
	}
	want := map[string]string{"operator-allow-metrics-traffic": "metrics", "operator-allow-webhook-traffic": "webhook"}
	if diff := cmp.Diff(want, allowed); diff != "" {
		t.Errorf("ports that the NetworkPolicies open (-want +got):\n%s", diff)
	}
}

// objectOf returns the first object of a kind without a Go type in this test.
func objectOf(t *testing.T, m manifests, kind string) *unstructured.Unstructured {
	t.Helper()
	at := slices.IndexFunc(m, func(object *unstructured.Unstructured) bool { return object.GetKind() == kind })
	if at < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return m[at]
}

// selectedBy returns the selector of the labels in a field.
func selectedBy(t *testing.T, object *unstructured.Unstructured, fields ...string) labels.Selector {
	t.Helper()
	match, ok, err := unstructured.NestedStringMap(object.Object, fields...)
	if err != nil || !ok {
		t.Fatalf("%s %s selects nothing: %v", object.GetKind(), object.GetName(), err)
	}
	return labels.SelectorFromSet(match)
}

// Each role for people grants the permissions for their kubectl commands, and no others.
func TestUserRolesByVerb(t *testing.T) {
	read := []string{"memcacheds get", "memcacheds list", "memcacheds watch", "memcacheds/scale get", "memcacheds/status get"}
	// kubectl create, replace, apply and edit, delete; kubectl scale.
	edit := []string{"memcacheds create", "memcacheds delete", "memcacheds patch", "memcacheds update", "memcacheds/scale patch", "memcacheds/scale update"}
	installed := roles(t, render(t, "default"))
	for name, want := range map[string][]string{
		"operator-memcached-viewer-role": read,
		"operator-memcached-editor-role": slices.Concat(read, edit),
		"operator-memcached-admin-role":  slices.Concat(read, edit, []string{"memcacheds deletecollection"}), // kubectl delete --all
	} {
		got := sets.New[string]()
		for _, r := range installed {
			if r.name != name {
				continue
			}
			for _, rule := range r.rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						got.Insert(resource + " " + verb)
					}
				}
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), sets.List(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The columns of kubectl get show what their headings say.
func TestPrintedColumns(t *testing.T) {
	crd := one[apiextensionsv1.CustomResourceDefinition](t, render(t, "default"), "CustomResourceDefinition")
	want := map[string]string{
		"Size": ".spec.size", "Ready": ".status.readyReplicas", "Port": ".spec.containerPort", "Age": ".metadata.creationTimestamp",
		"Reason": `.status.conditions[?(@.type=="Degraded")].reason`,
	}
	for _, conditionType := range []string{cachev1alpha1.ConditionAvailable, cachev1alpha1.ConditionProgressing, cachev1alpha1.ConditionDegraded} {
		want[conditionType] = fmt.Sprintf(`.status.conditions[?(@.type==%q)].status`, conditionType)
	}
	got := map[string]string{}
	for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		got[column.Name] = column.JSONPath
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// Each role for users is aggregated into the cluster's own role of that level, and into those above it.
func TestUserRolesAreAggregated(t *testing.T) {
	want := map[string][]string{
		"operator-memcached-viewer-role": {"admin", "edit", "view"},
		"operator-memcached-editor-role": {"admin", "edit"},
		"operator-memcached-admin-role":  {"admin"},
	}
	got := map[string][]string{}
	for _, r := range all[rbacv1.ClusterRole](t, render(t, "default"), "ClusterRole") {
		for key, value := range r.Labels {
			if to, ok := strings.CutPrefix(key, "rbac.authorization.k8s.io/aggregate-to-"); ok && value == "true" {
				got[r.Name] = append(got[r.Name], to)
			}
		}
		slices.Sort(got[r.Name])
		if len(got[r.Name]) == 0 {
			delete(got, r.Name)
			continue
		}
		for _, rule := range r.Rules {
			if !slices.Equal(rule.APIGroups, []string{cachev1alpha1.GroupVersion.Group}) {
				t.Errorf("%s gives every user of the cluster permissions on %q", r.Name, rule.APIGroups)
			}
			if writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }); writes && strings.Contains(r.Name, "viewer") {
				t.Errorf("a viewer may %q", rule.Verbs)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
