package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWithoutServerFields(t *testing.T) {
	saved := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{
			"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "7", "labels": map[string]any{"color": "red"}, "annotations": map[string]any{"size": "large"},
			"ownerReferences": []any{map[string]any{"apiVersion": "flights.com/v1", "kind": "FlightTicket", "name": "a", "uid": "d"}},
		},
		"spec":   map[string]any{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "type": "ClusterIP"},
		"status": map[string]any{"loadBalancer": map[string]any{}},
	}}
	g := NewWithT(t)
	g.Expect(withoutServerFields(saved).Object).To(Equal(map[string]any{
		"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "ClusterIP"},
		"metadata": map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{"color": "red"}, "annotations": map[string]any{"size": "large"}},
	}))
	g.Expect(saved.GetUID()).NotTo(BeEmpty(), "the saved object stays as it is")
	saved.Object["spec"] = map[string]any{"clusterIP": "None", "clusterIPs": []any{"None"}}
	g.Expect(withoutServerFields(saved).Object["spec"]).To(Equal(map[string]any{"clusterIP": "None"}), "a headless Service is asked for")
}
