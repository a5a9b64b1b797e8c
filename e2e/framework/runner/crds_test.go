package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// definitionOf is a CustomResourceDefinition with a schema for spec.
const definitionOf = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: guests.test.example.com
spec:
  group: test.example.com
  names: {kind: Guest, plural: guests, singular: guest, listKind: GuestList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {age: {type: integer%s}}}
`

// definedInPlace updates a CustomResourceDefinition again and again: the next object is already judged by the new one.
func (h *gatehouse) definedInPlace(t *testing.T) {
	directory := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("kustomization.yaml", "resources: [crd.yaml]\n")
	rendered := func(minimum string) manifest.Set {
		t.Helper()
		write("crd.yaml", fmt.Sprintf(definitionOf, minimum))
		manifests, err := manifest.Render(directory)
		if err != nil {
			t.Fatal(err)
		}
		return manifests
	}
	// The fields of the first one are somebody else's.
	if err := h.client.Create(t.Context(), rendered(", minimum: 21").Objects()[0]); err != nil {
		t.Fatal(err)
	}
	guest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"age": int64(18)}}}
	guest.SetAPIVersion("test.example.com/v1")
	guest.SetKind("Guest")
	guest.SetNamespace("default")
	guest.SetName("somebody")
	for round := range 20 {
		for _, minimum := range []string{", minimum: 21", ""} {
			welcome := minimum == ""
			if err := install.CRDs(t.Context(), h.options.Config, rendered(minimum)); err != nil {
				t.Fatal(err)
			}
			if err := h.client.Create(t.Context(), guest.DeepCopy(), client.DryRunAll); (err == nil) != welcome {
				t.Fatalf("round %d: with the schema integer%s: expected the guest to be welcome: %t, got %v", round, minimum, welcome, err)
			}
		}
	}
	present := &unstructured.Unstructured{}
	present.SetAPIVersion("apiextensions.k8s.io/v1")
	present.SetKind("CustomResourceDefinition")
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: "guests.test.example.com"}, present); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(present.Object, "spec", "versions")
	if deprecated := versions[0].(map[string]any)["deprecated"]; deprecated != nil {
		t.Errorf("expected no warning to be left, the version is deprecated: %v", deprecated)
	}
}
