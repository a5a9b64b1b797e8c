package sdk_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

const (
	bundle = root + "/operator/bundle"
	config = root + "/operator/config/"
	// olmCertificate is what only OLM's installation has: OLM issues the certificate.
	olmCertificate = "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs"
)

// inBundle returns the objects in the bundle's manifests.
func inBundle(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(bundle + "/manifests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no manifests: %v", bundle, err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, object)
	}
	return objects
}

func serviceVersion(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objects := inBundle(t)
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ClusterServiceVersion" })
	if i < 0 {
		t.Fatal("the bundle has no ClusterServiceVersion")
	}
	return objects[i]
}

func defaultManifests(t *testing.T) manifest.Set {
	t.Helper()
	manifests, err := manifest.Render(config + "default")
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func field(t *testing.T, object map[string]any, path ...string) any {
	t.Helper()
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found {
		t.Fatalf("there is no %s: %v", strings.Join(path, "."), err)
	}
	return value
}

// The Deployment in the ClusterServiceVersion is that of config/default, except that OLM issues the certificate.
func TestDeploymentInBundle(t *testing.T) {
	deployments := defaultManifests(t).Select("Deployment")
	want := deployments[0]
	containers := field(t, want.Object, "spec", "template", "spec", "containers").([]any)
	manager := containers[0].(map[string]any)
	manager["args"] = append(manager["args"].([]any), olmCertificate)
	// An empty value is left out.
	for _, variable := range manager["env"].([]any) {
		if v := variable.(map[string]any); v["value"] == "" {
			delete(v, "value")
		}
	}
	listed := field(t, serviceVersion(t).Object, "spec", "install", "spec", "deployments").([]any)
	if len(listed) != 1 || len(deployments) != 1 {
		t.Fatalf("the bundle has %d Deployments, config/default %d, want one each", len(listed), len(deployments))
	}
	got := listed[0].(map[string]any)
	if got["name"] != want.GetName() {
		t.Errorf("the Deployment is called %s, want %s", got["name"], want.GetName())
	}
	if diff := cmp.Diff(normal(t, want.Object["spec"]), normal(t, got["spec"])); diff != "" {
		t.Errorf("the bundle is stale or config/olm changes more than it says: make build-bundle writes it (-config/default +bundle):\n%s", diff)
	}
}

// The permissions in the ClusterServiceVersion are those of config/default, without the ones to issue certificates.
func TestPermissionsInBundle(t *testing.T) {
	manifests := defaultManifests(t)
	install := field(t, serviceVersion(t).Object, "spec", "install", "spec").(map[string]any)
	for _, test := range []struct{ field, binding, role, notNeeded string }{
		{"clusterPermissions", "ClusterRoleBinding", "ClusterRole", "operator-webhook-trust-role"},
		{"permissions", "RoleBinding", "Role", "operator-certificates-role"},
	} {
		var want []rbacv1.PolicyRule
		bound := map[string]bool{}
		for _, binding := range manifests.Select(test.binding) {
			bound[field(t, binding.Object, "roleRef", "name").(string)] = true
		}
		if !bound[test.notNeeded] {
			t.Errorf("config/default binds no %s: update this test and config/olm", test.notNeeded)
		}
		for _, role := range manifests.Select(test.role) {
			if bound[role.GetName()] && role.GetName() != test.notNeeded {
				want = append(want, rules(t, role.Object["rules"])...)
			}
		}
		var got []rbacv1.PolicyRule
		for _, listed := range install[test.field].([]any) {
			permission := listed.(map[string]any)
			if account := permission["serviceAccountName"]; account != "operator-controller-manager" {
				t.Errorf("%s are for the ServiceAccount %s", test.field, account)
			}
			got = append(got, rules(t, permission["rules"])...)
		}
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			t.Errorf("%s (-config/default +bundle):\n%s", test.field, diff)
		}
	}
}

func rules(t *testing.T, value any) []rbacv1.PolicyRule {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(map[string]any{"rules": value}, &role, true); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func sorted(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) })
	return rules
}

// The webhooks in the ClusterServiceVersion are those of config/default, except for match conditions, which it has no field for.
func TestWebhooksInBundle(t *testing.T) {
	want := map[string]any{}
	for kind, typ := range map[string]string{"MutatingWebhookConfiguration": "MutatingAdmissionWebhook", "ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook"} {
		for _, configuration := range defaultManifests(t).Select(kind) {
			for _, w := range field(t, configuration.Object, "webhooks").([]any) {
				webhook := w.(map[string]any)
				webhook["type"] = typ
				webhook["webhookPath"] = field(t, webhook, "clientConfig", "service", "path")
				want[webhook["name"].(string)] = webhook
				for _, name := range []string{"clientConfig", "matchConditions", "name"} {
					delete(webhook, name)
				}
			}
		}
	}
	got := map[string]any{}
	for _, w := range field(t, serviceVersion(t).Object, "spec", "webhookdefinitions").([]any) {
		webhook := w.(map[string]any)
		got[webhook["generateName"].(string)] = webhook
		if webhook["deploymentName"] != "operator-controller-manager" || webhook["targetPort"] != "webhook" {
			t.Errorf("%v is served by port %v of %v", webhook["generateName"], webhook["targetPort"], webhook["deploymentName"])
		}
		for _, name := range []string{"generateName", "deploymentName", "containerPort", "targetPort"} {
			delete(webhook, name)
		}
	}
	if diff := cmp.Diff(normal(t, want), normal(t, got)); diff != "" {
		t.Errorf("webhooks (-config/default +bundle):\n%s", diff)
	}
}

// Whatever else config/default installs is in the bundle as it is, unless OLM makes it from the ClusterServiceVersion.
func TestOtherObjectsInBundle(t *testing.T) {
	want, got := map[string]any{}, map[string]any{}
	bound := map[string]bool{}
	manifests := defaultManifests(t)
	for _, binding := range manifests.Select("ClusterRoleBinding", "RoleBinding") {
		bound[field(t, binding.Object, "roleRef", "name").(string)] = true
	}
	made := []string{"Namespace", "Deployment", "ServiceAccount", "ClusterRoleBinding", "RoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
	for _, object := range manifests.Without(made...) {
		if !bound[object.GetName()] {
			want[object.GetKind()+" "+object.GetName()] = withoutPlace(t, object)
		}
	}
	for _, object := range inBundle(t) {
		if object.GetKind() != "ClusterServiceVersion" {
			got[object.GetKind()+" "+object.GetName()] = withoutPlace(t, object)
		}
	}
	if len(want) < 5 {
		t.Errorf("config/default has %d other objects, expected more", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other objects (-config/default +bundle):\n%s", diff)
	}
}

// withoutPlace returns an object without its namespace, which OLM decides, and without empty fields that generators write.
func withoutPlace(t *testing.T, object *unstructured.Unstructured) any {
	t.Helper()
	unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "status")
	return normal(t, object.Object)
}

// normal returns a value as YAML has it, so that numbers are of one type.
func normal(t *testing.T, value any) any {
	t.Helper()
	text, err := yaml.Marshal(value)
	var result any
	if err == nil {
		err = yaml.Unmarshal(text, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}
