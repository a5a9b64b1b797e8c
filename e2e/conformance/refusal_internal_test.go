package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTextsOf(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"to": "London"},
		"status": map[string]any{
			"phase":    "Failed",
			"replicas": int64(1),
			"conditions": []any{
				map[string]any{"type": "Degraded", "status": "True", "reason": "Forbidden", "message": "pods is forbidden"},
			},
		},
	}}
	NewWithT(t).Expect(textsOf(object)).To(Equal(map[string]bool{"Failed": true, "True": true, "Forbidden": true, "pods is forbidden": true}))
	NewWithT(t).Expect(textsOf(&unstructured.Unstructured{Object: map[string]any{}})).To(BeEmpty())
}

func TestTrouble(t *testing.T) {
	for text, want := range map[string]bool{
		"CreateFailed": true,
		"deployments.apps \"a\" is forbidden: ...": true,
		"can't create the pod":                     true,
		"The API server denied it":                 true,
		"ReconcileError":                           true,
		"AllReplicasReady":                         false,
		"Creating the Deployment.":                 false,
		"lasting-x7k2p":                            false,
		"":                                         false,
	} {
		NewWithT(t).Expect(trouble.MatchString(text)).To(Equal(want), text)
	}
}
