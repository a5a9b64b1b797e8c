package controller

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/quickstart/api/v1alpha1"
)

// TestDesiredDeployment needs no cluster: it calls the function, and looks at what it returns.
func TestDesiredDeployment(t *testing.T) {
	mc := memcachedOfSize(3)
	got := typed(t, desiredDeployment(mc, "memcached:test"))

	var selected map[string]string
	if got.Spec.Selector != nil {
		selected = got.Spec.Selector.MatchLabels
	}
	containers := []string{}
	for _, container := range got.Spec.Template.Spec.Containers {
		containers = append(containers, container.Image)
	}
	fields := []field{
		{"metadata.name", "cache", got.Name, "acappsv1.Deployment(mc.Name, mc.Namespace)"},
		{"metadata.ownerReferences: owned by mc", true, metav1.IsControlledBy(got, mc), "WithOwnerReferences, and the function ownerReference, which is there"},
		{"spec.replicas", int32(3), replicasOf(got), "WithReplicas, and the size in the spec of mc"},
		{"spec.selector.matchLabels", map[string]string{"cache.example.com/memcached-uid": "1234"}, selected, "WithSelector, which was there"},
		{"spec.template.metadata.labels", selected, got.Spec.Template.Labels, "WithTemplate, and the function podTemplate, which is there: a Deployment has to select its own pods"},
		{"spec.template.spec.containers: their images", []string{"memcached:test"}, containers, "WithTemplate, and the function podTemplate, which is there"},
	}
	if replicasOf(got) == 3 { // which could be a constant
		five := typed(t, desiredDeployment(memcachedOfSize(5), "memcached:test"))
		fields = append(fields, field{"spec.replicas, for the size 5", int32(5), replicasOf(five), "WithReplicas, and the size in the spec of mc"})
	}
	for _, field := range fields {
		if !reflect.DeepEqual(field.seen, field.expected) {
			t.Errorf("desiredDeployment, %s:\n  expected:  %v\n  last seen: %v\n  look at:   %s", field.name, field.expected, field.seen, field.lookAt)
		}
	}
}

// field is a field of the Deployment, with what a test expected and saw there.
type field struct {
	name           string
	expected, seen any
	lookAt         string
}

func memcachedOfSize(size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "1234"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
}

func replicasOf(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 0
	}
	return *deployment.Spec.Replicas
}

// typed returns what the API server would read: a Deployment in which nothing is nil that must not be.
func typed(t *testing.T, configuration any) *appsv1.Deployment {
	t.Helper()
	text, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(text, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}
