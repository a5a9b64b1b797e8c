package conformance

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

func TestMisfits(t *testing.T) {
	g := NewWithT(t)
	schema, object := map[string]any{}, &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(`
properties:
  metadata: {type: object}
  spec:
    properties:
      at: {type: string, format: date-time}
      limit: {pattern: '^[0-9]+$', x-kubernetes-int-or-string: true}
      missing: {properties: {at: {type: string, format: date-time}}}
      name: {type: string, format: hostname}
      port/number: {x-kubernetes-int-or-string: true}
  status:
    properties:
      conditions:
        items: {properties: {lasted: {type: string, format: duration}, type: {type: string}}}
      others:
        items: {properties: {at: {type: string, format: date-time}}}
`), &schema)).To(Succeed())
	g.Expect(yaml.Unmarshal([]byte(`
spec: {port/number: http}
status: {conditions: [{type: A, lasted: 1s}, {type: B}], others: []}
`), &object.Object)).To(Succeed())
	operations := misfitsOf(schema, object.Object, "")
	g.Expect(operations).To(Equal([]operation{
		{"add", "/spec/at", "2024-01-01t00:00:00z"},
		{"add", "/spec/port~1number", int64(1 << 31)},
		{"add", "/status/conditions/0/lasted", "1 day"},
	}))
	g.Expect(undo(object, operations)).To(Equal([]operation{
		{Op: "remove", Path: "/spec/at"},
		{"replace", "/spec/port~1number", "http"},
		{"replace", "/status/conditions/0/lasted", "1s"},
	}))
}

// The values fit no Go type that is usual for their format.
func TestMisfitsAreUndecodable(t *testing.T) {
	for format, into := range map[string]any{"date-time": &metav1.Time{}, "duration": &metav1.Duration{}, intOrString: &intstr.IntOrString{}} {
		content, err := json.Marshal(misfits[format])
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(json.Unmarshal(content, into)).NotTo(Succeed(), format)
	}
}
