package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework"
)

func TestJudge(t *testing.T) {
	g := NewWithT(t)
	wide, unused := judge(
		[]string{"* pods", "create pods", "delete pods", "get *.apps", "list pods", "list secrets", "update tickets.flights.com/finalizers", "watch pods"},
		map[string]bool{"create pods": true, "watch pods": true})
	g.Expect(wide).To(Equal([]string{"* pods", "get *.apps"}))
	g.Expect(unused).To(Equal([]string{"delete pods", "list secrets"}))
}

func TestPermission(t *testing.T) {
	g := NewWithT(t)
	g.Expect(permission("", "pods", "get")).To(Equal("get pods"))
	g.Expect(permission("apps", "deployments/status", "patch")).To(Equal("patch deployments.apps/status"))
}

func TestLeaves(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"replicas": int64(1)},
		"metadata": map[string]any{"name": "a", "uid": "b", "labels": map[string]any{"example.com/color": "red"}},
		"spec": map[string]any{
			"replicas":   int64(2),
			"containers": []any{map[string]any{"name": "a", "image": "one"}, "other", map[string]any{"name": "b"}},
		},
	}}
	g := NewWithT(t)
	values := map[string]any{}
	for _, pointer := range leaves(object.Object, "") {
		values[pointer] = valueAt(object, pointer)
	}
	g.Expect(values).To(Equal(map[string]any{"/metadata/labels/example.com~1color": "red", "/spec/replicas": int64(2), "/spec/containers/0/image": "one"}))
	g.Expect(valueAt(object, "/spec/containers/7/image")).To(BeNil())
}

func TestCopiesOfTheSample(t *testing.T) {
	sample := &Sample{object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "flights.com/v1", "kind": "FlightTicket", "spec": map[string]any{"to": "London"}, "status": map[string]any{"booking": "B-1"},
		"metadata": map[string]any{"name": "mine", "namespace": "default", "uid": "a", "resourceVersion": "7", "labels": map[string]any{"color": "red"}},
	}}}
	NewWithT(t).Expect(sample.New("one", "copy", 1, 1).(*unstructured.Unstructured).Object).To(Equal(map[string]any{
		"apiVersion": "flights.com/v1", "kind": "FlightTicket", "spec": map[string]any{"to": "London"},
		"metadata": map[string]any{"name": "copy", "namespace": "one", "labels": map[string]any{"color": "red"}},
	}))
}

// Like `kubectl wait`, the point about generations takes status.observedGeneration for a condition that has none.
func TestConditionsOfGeneration(t *testing.T) {
	for _, test := range []struct {
		status  string
		present bool
	}{
		{`{"conditions":[{"type":"A","observedGeneration":2}]}`, true},
		{`{"conditions":[{"type":"A","observedGeneration":2},{"type":"B"}]}`, false},
		{`{"conditions":[{"type":"A","observedGeneration":2},{"type":"B"}],"observedGeneration":2}`, true},
		{`{"conditions":[{"type":"A"}],"observedGeneration":1}`, false},
		{`{"conditions":[{"type":"A","observedGeneration":1}],"observedGeneration":2}`, false},
	} {
		g, object := NewWithT(t), &unstructured.Unstructured{}
		g.Expect(object.UnmarshalJSON([]byte(`{"apiVersion":"example.com/v1","kind":"A","metadata":{"generation":2},"status":` + test.status + `}`))).To(Succeed())
		conditions, err := framework.ConditionsOf(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(arePresent(conditions, object)).To(Equal(test.present), test.status)
	}
}
