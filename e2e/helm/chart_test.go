package helm_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/helm"
	"github.com/example/operator-testbed/e2e/tier"
)

const (
	root   = "../.."
	chart  = root + "/operator/dist/chart"
	config = root + "/operator/config/"
)

// build compiles Helm, which takes a minute or two the first time.
func build(t *testing.T) helm.Helm {
	t.Helper()
	h, err := helm.Build(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestChartIsWithoutFault(t *testing.T) {
	tier.All(t)
	if _, err := build(t).Run(t.Context(), "lint", "--strict", chart); err != nil {
		t.Error(err)
	}
}

// The chart and the kustomizations install the same objects. The namespace is not the chart's: Helm creates it.
func TestChartAgreesWithKustomization(t *testing.T) {
	tier.All(t)
	h := build(t)
	for kustomization, values := range map[string][]string{
		"default": nil,
		"namespaced": {
			"--set=namespaces={operator-system}", "--set=webhook.enabled=false", "--set=metrics.enabled=false",
			"--set=rbac.helpers.enabled=false", "--set=crd.enabled=false",
		},
	} {
		t.Run(kustomization, func(t *testing.T) {
			want, err := manifest.Render(config + kustomization)
			if err != nil {
				t.Fatal(err)
			}
			got, err := h.Template(t.Context(), chart, "operator", "operator-system", values...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normalized(t, want.Without("Namespace"), "kustomize"), normalized(t, got.Objects(), "Helm")); diff != "" {
				t.Errorf("what the chart installs, if its files are those of `make build-chart` (-%s +chart):\n%s", kustomization, diff)
			}
		})
	}
}

// normalized returns the objects by kind and name, without what has to differ: who manages them, what keeps the
// CustomResourceDefinition, and in which of two ways the manager learns which namespaces to serve.
func normalized(t *testing.T, objects []*unstructured.Unstructured, manager string) map[string]map[string]any {
	t.Helper()
	result := map[string]map[string]any{}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels["app.kubernetes.io/managed-by"] != manager {
			t.Errorf("%s %s is managed by %q, want %s", object.GetKind(), object.GetName(), labels["app.kubernetes.io/managed-by"], manager)
		}
		delete(labels, "app.kubernetes.io/managed-by")
		delete(labels, "app.kubernetes.io/instance")
		object.SetLabels(labels)
		annotations := object.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(annotations)
		content := object.Object
		if object.GetKind() == "Deployment" {
			d := deployment(t, object)
			c := &d.Spec.Template.Spec.Containers[0]
			c.Args = slices.DeleteFunc(c.Args, func(arg string) bool { return arg == "--namespaces=operator-system" })
			c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "WATCH_NAMESPACE" })
			var err error
			if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(d); err != nil {
				t.Fatal(err)
			}
		}
		result[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = content
	}
	return result
}

func deployment(t *testing.T, object *unstructured.Unstructured) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, d, true); err != nil {
		t.Fatal(err)
	}
	return d
}

// Uninstalling a release keeps the CustomResourceDefinition.
func TestChartKeepsDefinition(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	manifests, err := build(t).Template(t.Context(), chart, "operator", "operator-system")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifests.Select("CustomResourceDefinition")).To(ConsistOf(
		WithTransform((*unstructured.Unstructured).GetAnnotations, HaveKeyWithValue("helm.sh/resource-policy", "keep"))))
}

// Each value does what values.yaml says.
func TestValues(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	digest := "sha256:" + strings.Repeat("0", 64)
	manifests, err := build(t).Template(t.Context(), chart, "cache", "caches", "--set=namespaces={a,b}",
		"--set=manager.image.repository=registry.example.com/operator", "--set=manager.image.digest="+digest, "--set=manager.image.pullPolicy=Always",
		"--set=manager.replicas=3", "--set=manager.resources=null", "--set=manager.memcachedImage=memcached:1",
		"--set=manager.args={--zap-devel,--max-total-size-per-namespace=9}", "--set=crd.enabled=false")
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range manifests.Objects() {
		g.Expect(object.GetName()).To(HavePrefix("cache-"), object.GetKind())
	}
	d := deployment(t, manifests.Select("Deployment")[0])
	g.Expect(d.Namespace).To(Equal("caches"))
	g.Expect(*d.Spec.Replicas).To(Equal(int32(3)))
	c := d.Spec.Template.Spec.Containers[0]
	g.Expect(c.Image).To(Equal("registry.example.com/operator@" + digest))
	g.Expect(c.ImagePullPolicy).To(Equal(corev1.PullAlways))
	g.Expect(c.Resources).To(BeZero())
	g.Expect(c.Env).To(ContainElement(corev1.EnvVar{Name: "MEMCACHED_IMAGE", Value: "memcached:1"}))
	g.Expect(c.Args).To(ContainElements("--namespaces=a,b", "--zap-devel", "--max-total-size-per-namespace=9"))

	// Its permission to work is in the namespaces that it serves.
	var namespaces []string
	for _, role := range manifests.Select("Role") {
		if role.GetName() == "cache-manager-role" {
			namespaces = append(namespaces, role.GetNamespace())
		}
	}
	g.Expect(namespaces).To(ConsistOf("a", "b"))
	for _, role := range manifests.Select("ClusterRole") {
		g.Expect(role.GetName()).NotTo(Equal("cache-manager-role"))
	}
	for _, configuration := range manifests.Select("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") {
		webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		g.Expect(webhooks).To(HaveEach(HaveKeyWithValue("namespaceSelector", map[string]any{"matchExpressions": []any{map[string]any{
			"key": "kubernetes.io/metadata.name", "operator": "In", "values": []any{"a", "b"},
		}}})))
	}
}

// With other names, no object of the chart has an old one in any field, apart from the label that says what the operator is part of.
func TestChartNames(t *testing.T) {
	tier.All(t)
	manifests, err := build(t).Template(t.Context(), chart, "cache", "caches")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`[a-z0-9-]+`)
	found := 0
	for _, object := range manifests.Objects() {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names.FindAllString(string(content), -1) {
			if strings.HasPrefix(name, "operator-") && name != "operator-testbed" {
				t.Errorf("%s %s names %s", object.GetKind(), object.GetName(), name)
			}
			if strings.HasPrefix(name, "cache-") {
				found++
			}
		}
	}
	if found < 30 {
		t.Errorf("found %d new names, want more: is the pattern correct?", found)
	}
}

// One value moves the webhooks to another port.
func TestWebhookPort(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	manifests, err := build(t).Template(t.Context(), chart, "operator", "operator-system", "--set=webhook.port=10250")
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range manifests.Objects() {
		content, err := object.MarshalJSON()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).NotTo(ContainSubstring("9443"), object.GetKind()+" "+object.GetName())
	}
	c := deployment(t, manifests.Select("Deployment")[0]).Spec.Template.Spec.Containers[0]
	g.Expect(c.Args).To(ContainElement("--webhook-bind-address=:10250"))
	g.Expect(c.Ports).To(ContainElement(corev1.ContainerPort{Name: "webhook", ContainerPort: 10250, Protocol: corev1.ProtocolTCP}))
	for _, service := range manifests.Select("Service") {
		if service.GetName() == "operator-webhook-service" {
			ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
			g.Expect(ports).To(ConsistOf(HaveKeyWithValue("targetPort", "webhook")))
		}
	}
}

// One value leaves all users to the cluster.
func TestOmitRunAsUser(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	h := build(t)
	for value, matcher := range map[string]types.GomegaMatcher{"false": Not(BeNil()), "true": BeNil()} {
		manifests, err := h.Template(t.Context(), chart, "operator", "operator-system", "--set=omitRunAsUser="+value)
		g.Expect(err).NotTo(HaveOccurred())
		pod := deployment(t, manifests.Select("Deployment")[0]).Spec.Template.Spec
		g.Expect(pod.SecurityContext.RunAsUser).To(matcher, value)
		g.Expect(pod.SecurityContext.RunAsGroup).To(matcher, value)
		g.Expect(slices.Contains(pod.Containers[0].Args, "--omit-run-as-user")).To(Equal(value == "true"))
	}
}

// A value that can't work is refused before anything is installed, by name.
func TestInvalidValues(t *testing.T) {
	tier.All(t)
	h := build(t)
	for _, test := range []struct{ release, set, want string }{
		{"operator", "manager.replica=2", "replica"},
		{"operator", "manager.replicas=-1", "/manager/replicas"},
		{"operator", "manager.image.pullPolicy=Sometimes", "/manager/image/pullPolicy"},
		{"operator", "manager.args={zap-devel}", "/manager/args/0"},
		{"operator", "webhook.port=0", "/webhook/port"},
		{"operator", "namespaces={A}", "/namespaces/0"},
		{"operator", "namePrefix=operator", "/namePrefix"},
		{strings.Repeat("long-", 6) + "name", "webhook.enabled=true", "set namePrefix"},
		{"operator", "manager.args={--zap-devel,--webhook-bind-address=:10250}", "set webhook.port instead"},
		{"operator", "manager.args={-omit-run-as-user}", "set omitRunAsUser instead"},
		{"operator", "webhook.port=8081", "webhook.port is 8081"},
		{"operator", "webhook.port=8443", "webhook.port is 8443"},
	} {
		_, err := h.Template(t.Context(), chart, test.release, "operator-system", "--set="+test.set)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)), test.set)
	}
	for _, set := range []string{"webhook.port=8443,metrics.enabled=false", "webhook.port=8081,webhook.enabled=false"} {
		_, err := h.Template(t.Context(), chart, "operator", "operator-system", "--set="+set)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), set)
	}
}
