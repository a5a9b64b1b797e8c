package controller

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// oddImages are all valid references.
var oddImages = map[string]string{
	"no tag":               "memcached",
	"tag":                  "memcached:1.6.39-alpine",
	"registry with a port": "localhost:5000/memcached",
	"port and tag":         "registry.example.com:5000/team/memcached:1.6",
	"digest":               "memcached@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"tag and digest":       "registry.example.com:5000/memcached:1.6@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"long tag":             "memcached:" + strings.Repeat("v", 128),
}

func TestAnyImageMakesValidLabels(t *testing.T) {
	for name, image := range oddImages {
		t.Run(name, func(t *testing.T) {
			mc := testMemcached(1)
			mc.Name = strings.Repeat("n", 63) // the longest that the schema allows
			deployment, err := ssa.Deployment(desiredDeployment(mc, image))
			if err != nil {
				t.Fatal(err)
			}
			template := deployment.Spec.Template
			if got := template.Spec.Containers[0].Image; got != image {
				t.Errorf("image = %s, want %s", got, image)
			}
			for where, labels := range map[string]map[string]string{
				"Deployment": deployment.Labels, "selector": deployment.Spec.Selector.MatchLabels, "template": template.Labels,
			} {
				if errs := metav1validation.ValidateLabels(labels, field.NewPath(where)); len(errs) > 0 {
					t.Error(errs.ToAggregate())
				}
			}
		})
	}
}

func TestDesiredDeployment(t *testing.T) {
	mc := testMemcached(3)
	mc.Spec.ContainerPort = new(int32(22122))
	deployment, err := ssa.Deployment(desiredDeployment(mc, testImage))
	if err != nil {
		t.Fatal(err)
	}

	wantOwners := []metav1.OwnerReference{{
		APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: testName, UID: mc.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	if diff := cmp.Diff(wantOwners, deployment.OwnerReferences); diff != "" {
		t.Errorf("owner references (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{cachev1alpha1.LabelMemcachedUID: string(mc.UID)}, deployment.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if got := *deployment.Spec.Replicas; got != 3 {
		t.Errorf("replicas = %d, want 3", got)
	}
	rollout := appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromString("25%")), MaxUnavailable: new(intstr.FromInt32(0))},
	}
	if diff := cmp.Diff(rollout, deployment.Spec.Strategy); diff != "" {
		t.Errorf("strategy (-want +got):\n%s", diff)
	}

	container := deployment.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff([]string{"-p", "22122", "-m", "64", "-U", "0"}, container.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.ContainerPort{{Name: "memcached", ContainerPort: 22122, Protocol: corev1.ProtocolTCP}}, container.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	for name, probe := range map[string]*corev1.Probe{"readiness": container.ReadinessProbe, "liveness": container.LivenessProbe} {
		if probe.TCPSocket.Port.IntValue() != 22122 {
			t.Errorf("the %s probe knocks at port %s, want 22122", name, probe.TCPSocket.Port.String())
		}
	}
}

// The pods run on Linux nodes only, and where possible on different nodes and in different zones. None stays pending for that.
func TestPodsOnNodes(t *testing.T) {
	deployment, err := ssa.Deployment(desiredDeployment(testMemcached(3), testImage))
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{corev1.LabelOSStable: string(corev1.Linux)}, pod.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	var domains []string
	for _, spread := range pod.TopologySpreadConstraints {
		domains = append(domains, spread.TopologyKey)
		if spread.WhenUnsatisfiable != corev1.ScheduleAnyway {
			t.Errorf("pods stay pending where they can't be spread over %s: %s", spread.TopologyKey, spread.WhenUnsatisfiable)
		}
		if spread.MaxSkew != 1 {
			t.Errorf("a domain of %s may have %d pods more than another, want 1", spread.TopologyKey, spread.MaxSkew)
		}
		if diff := cmp.Diff(deployment.Spec.Selector, spread.LabelSelector); diff != "" {
			t.Errorf("pods that are spread over %s, which are not those of the Deployment (-want +got):\n%s", spread.TopologyKey, diff)
		}
		// During a rollout, the old pods don't count.
		if !slices.Equal(spread.MatchLabelKeys, []string{appsv1.DefaultDeploymentUniqueLabelKey}) {
			t.Errorf("among them are pods of other revisions, because the keys that must match are %q", spread.MatchLabelKeys)
		}
	}
	if pod.Affinity != nil {
		t.Errorf("affinity %+v, which is expensive for the scheduler", pod.Affinity)
	}
	if diff := cmp.Diff([]string{corev1.LabelHostname, corev1.LabelTopologyZone}, domains); diff != "" {
		t.Errorf("domains that the pods are spread over (-want +got):\n%s", diff)
	}
}

// By default, the pods run as the user of the official images. A cluster that assigns users gets to choose, and nothing else differs.
func TestUserOfPods(t *testing.T) {
	deployment, err := ssa.Deployment(desiredDeployment(testMemcached(1), testImage))
	if err != nil {
		t.Fatal(err)
	}
	r := &MemcachedReconciler{OmitRunAsUser: true}
	chosen, err := ssa.Deployment(desiredDeployment(testMemcached(1), testImage, r.podOptions()...))
	if err != nil {
		t.Fatal(err)
	}
	want := deployment.Spec.Template.Spec
	if user := want.SecurityContext.RunAsUser; user == nil || *user != 11211 {
		t.Errorf("the pods run as %v", user)
	}
	want.SecurityContext.RunAsUser, want.SecurityContext.RunAsGroup = nil, nil
	if diff := cmp.Diff(want, chosen.Spec.Template.Spec); diff != "" {
		t.Errorf("pods without a user (-want +got):\n%s", diff)
	}
	if chosen.Spec.Template.Labels[cachev1alpha1.LabelTemplateHash] == deployment.Spec.Template.Labels[cachev1alpha1.LabelTemplateHash] {
		t.Error("their configuration has the same hash")
	}
}

func TestSelector(t *testing.T) {
	one, other := testMemcached(1), testMemcached(1)
	other.UID = "other-uid"
	if selector(one.UID) == selector(other.UID) {
		t.Errorf("two Memcacheds share the selector %s", selector(one.UID))
	}
	later := testMemcached(5)
	later.Spec.ContainerPort = new(int32(22122))
	if selector(one.UID) != selector(later.UID) {
		t.Errorf("the selector changes with the spec, from %s to %s", selector(one.UID), selector(later.UID))
	}
}

func TestTemplateHash(t *testing.T) {
	base := templateHash(desiredDeployment(testMemcached(1), testImage))
	if got := templateHash(desiredDeployment(testMemcached(1), testImage)); got != base {
		t.Errorf("the hash of the same template is %s once and %s then", base, got)
	}
	if got := templateHash(desiredDeployment(testMemcached(5), testImage)); got != base {
		t.Error("another size changes the hash of the template, which would replace all pods")
	}
	otherPort := testMemcached(1)
	otherPort.Spec.ContainerPort = new(int32(22122))
	if got := templateHash(desiredDeployment(otherPort, testImage)); got == base {
		t.Error("another port has the same hash")
	}
	if got := templateHash(desiredDeployment(testMemcached(1), "memcached")); got == base {
		t.Error("another image has the same hash")
	}
}

// Some values would differ from the live object forever: those that the API server stores in another form, such as 1000m for 1,
// and those that Go leaves out, such as false.
func TestDesiredDeploymentIsCanonical(t *testing.T) {
	desired := desiredDeployment(testMemcached(1), testImage)
	deployment, err := ssa.Deployment(desired)
	if err != nil {
		t.Fatal(err)
	}
	paths := ssa.Drift(desired, deployment)
	if len(paths) > 0 {
		t.Errorf("written as a Deployment, these fields have another value: %q", paths)
	}
}

// leaves returns the path of every value in the JSON of an apply configuration, each element of a list by its index.
func leaves(t *testing.T, applyConfiguration any) [][]any {
	t.Helper()
	text, err := json.Marshal(applyConfiguration)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	var result [][]any
	var walk func(path []any, value any)
	walk = func(path []any, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, child := range value {
				walk(append(slices.Clip(path), name), child)
			}
		case []any:
			for i, child := range value {
				walk(append(slices.Clip(path), i), child)
			}
		default:
			result = append(result, path)
		}
	}
	walk(nil, value)
	return result
}

// However unusual an image is, it does not become part of a label, and each image gives another configuration.
func FuzzImages(f *testing.F) {
	for _, image := range oddImages {
		f.Add(image)
	}
	f.Add("")
	f.Add("\xff:\x00/@")
	ordinary := templateHash(desiredDeployment(testMemcached(1), testImage))
	f.Fuzz(func(t *testing.T, image string) {
		hash := templateHash(desiredDeployment(testMemcached(1), image))
		if problems := validation.IsValidLabelValue(hash); len(problems) > 0 || hash == "" {
			t.Errorf("the hash of %q is %q, which is not a valid label value: %q", image, hash, problems)
		}
		if (hash == ordinary) != (image == testImage) {
			t.Errorf("%q and %q have the hashes %s and %s", image, testImage, hash, ordinary)
		}
	})
}
