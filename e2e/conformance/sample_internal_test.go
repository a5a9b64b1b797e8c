package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects that are alike have the same outcome, whatever they are called and however many nodes they have; one that is not ready has another.
func TestOutcomeOf(t *testing.T) {
	g := NewWithT(t)
	outcome := func(available, reason string, nodes ...any) string {
		return outcomeOf(&unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"size": int64(1)},
			"status": map[string]any{
				"nodes":    nodes,
				"replicas": int64(len(nodes)),
				"ports":    []any{map[string]any{"port": int64(1)}, map[string]any{"port": int64(2)}},
				"unset":    nil,
				"conditions": []any{
					map[string]any{"type": "Available", "status": available, "reason": reason, "message": nodes},
					map[string]any{"type": "Degraded", "status": "False"},
				},
			},
		}})
	}
	ready := outcome("True", "Ready", "a-1", "a-2")
	g.Expect(ready).To(Equal("status.conditions Available=True/Ready, status.conditions Degraded=False, status.nodes, status.ports.port, status.replicas"))
	g.Expect(outcome("True", "Ready", "b-1")).To(Equal(ready))
	g.Expect(outcome("False", "Creating", "b-1")).NotTo(Equal(ready))
	g.Expect(outcome("True", "Other", "b-1")).NotTo(Equal(ready))
	g.Expect(outcome("True", "Ready")).NotTo(Equal(ready))
	g.Expect(outcomeOf(&unstructured.Unstructured{Object: map[string]any{}})).To(BeEmpty())
}
