package ssa

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func TestTakeOver(t *testing.T) {
	const (
		ours      = "memcached-operator"
		replicas  = `{"f:spec":{"f:replicas":{}}}`
		image     = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{"f:image":{}}}}}}}`
		both      = `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{"f:image":{}}}}}}}`
		ports     = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{"f:ports":{".":{},"k:{\"containerPort\":9999,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}}}`
		portsToo  = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{"f:image":{},"f:ports":{".":{},"k:{\"containerPort\":9999,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}}}`
		withPorts = `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{"f:ports":{".":{},"k:{\"containerPort\":9999,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}}}`
		elsewhere = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"proxy\"}":{"f:ports":{"k:{\"containerPort\":9999,\"protocol\":\"TCP\"}":{".":{}}}}}}}}}`
	)
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			Time: new(metav1.Unix(1000, 0)), FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	ofStatus := func(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		entry.Subresource = "status"
		return entry
	}
	exclusive := []fieldpath.Path{fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "memcached"), "ports")}
	applied, updated := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate

	for _, test := range []struct {
		name         string
		sameFields   bool
		before, want []metav1.ManagedFieldsEntry
	}{
		{
			name:   "created by us",
			before: []metav1.ManagedFieldsEntry{entry("kubectl", updated, image), entry(ours, updated, replicas)},
			want:   []metav1.ManagedFieldsEntry{entry("kubectl", updated, image), entry(ours, applied, replicas)},
		},
		{
			name:       "created by us, with the same fields",
			sameFields: true,
			before:     []metav1.ManagedFieldsEntry{entry("kubectl", updated, image), entry(ours, updated, replicas)},
		},
		{
			name:       "created by us, with the same fields, and ports put into our container",
			sameFields: true,
			before:     []metav1.ManagedFieldsEntry{entry(ours, updated, replicas), entry("kubectl-edit", updated, portsToo)},
			want:       []metav1.ManagedFieldsEntry{entry(ours, applied, withPorts), entry("kubectl-edit", updated, image)},
		},
		{
			name:   "applied by us",
			before: []metav1.ManagedFieldsEntry{entry(ours, applied, replicas), entry("kubectl", updated, image)},
		},
		{
			name:   "applied and updated by us",
			before: []metav1.ManagedFieldsEntry{entry(ours, applied, replicas), entry(ours, updated, image)},
			want:   []metav1.ManagedFieldsEntry{entry(ours, applied, both)},
		},
		{
			name:   "ports put into our container by an update",
			before: []metav1.ManagedFieldsEntry{entry(ours, applied, replicas), entry("kubectl-edit", updated, portsToo)},
			want:   []metav1.ManagedFieldsEntry{entry(ours, applied, withPorts), entry("kubectl-edit", updated, image)},
		},
		{
			name:   "nothing but ports put into our container, by an apply",
			before: []metav1.ManagedFieldsEntry{entry("tool", applied, ports), entry(ours, updated, replicas), entry("tool", updated, ports)},
			want:   []metav1.ManagedFieldsEntry{entry(ours, applied, withPorts)},
		},
		{
			name:   "ports of another container",
			before: []metav1.ManagedFieldsEntry{entry(ours, applied, replicas), entry("proxy-injector", updated, elsewhere)},
		},
		{
			name:   "what the Deployment's controller writes",
			before: []metav1.ManagedFieldsEntry{entry(ours, applied, replicas), ofStatus(entry(ours, updated, image))},
		},
		{
			name:   "created by us, and its status written before",
			before: []metav1.ManagedFieldsEntry{ofStatus(entry("kube-controller-manager", updated, image)), entry(ours, updated, replicas)},
			want:   []metav1.ManagedFieldsEntry{ofStatus(entry("kube-controller-manager", updated, image)), entry(ours, applied, replicas)},
		},
		{
			name:   "we own nothing",
			before: []metav1.ManagedFieldsEntry{entry("kubectl", updated, ports)},
		},
		{
			name: "nobody owns anything",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			patch, err := takeOver(test.before, ours, exclusive, test.sameFields)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == nil {
				if patch != nil {
					t.Errorf("patch = %s, want none", patch)
				}
				return
			}
			got, err := apply(patch, test.before)
			if err != nil {
				t.Fatalf("%s: %v", patch, err)
			}
			if diff := cmp.Diff(asJSON(t, test.want), asJSON(t, got)); diff != "" {
				t.Errorf("managed fields (-want +got):\n%s", diff)
			}
			if again, err := takeOver(got, ours, exclusive, test.sameFields); again != nil || err != nil {
				t.Errorf("a second time: %s, %v, want nothing to do", again, err)
			}

			moved := append([]metav1.ManagedFieldsEntry{entry("newcomer", updated, image)}, test.before...)
			if _, err := apply(patch, moved); err == nil {
				t.Error("the patch changes entries that have moved since")
			}
		})
	}
}

func TestManagers(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	entries := []metav1.ManagedFieldsEntry{
		entry("ours", "", `{"f:spec":{"f:replicas":{}}}`),
		entry("kubectl", "scale", `{"f:spec":{"f:replicas":{}}}`),
		entry("autoscaler", "", `{"f:spec":{"f:replicas":{},"f:replicasToo":{}}}`),
		entry("controller", "status", `{"f:spec":{"f:replicas":{}}}`),
		entry("edit", "", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{".":{},"f:args":{},`+
			`"f:ports":{"k:{\"containerPort\":9999,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}}}}}`),
		entry("broken", "", `{`),
		{Manager: "none"},
	}
	const container = "spec.template.spec.containers[memcached]"
	for path, want := range map[string][]string{
		"spec.replicas":                     {"autoscaler", "kubectl"},
		"spec.replicasToo":                  {"autoscaler"},
		"spec.paused":                       nil,
		container + ".args":                 {"edit"},
		container + ".args[0]":              {"edit"},
		container + ".ports":                {"edit"},
		container + ".ports[9999,TCP].name": {"edit"},
		container + ".ports[11211,TCP]":     nil,
		"spec.template.spec":                {"edit"},
	} {
		if diff := cmp.Diff(want, Managers(entries, "ours", []string{"metadata.labels.x", path})); diff != "" {
			t.Errorf("managers of %s (-want +got):\n%s", path, diff)
		}
	}
}

// apply applies a JSON patch of an object to its managed fields.
func apply(patch []byte, entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	if text, err = decoded.Apply(text); err != nil {
		return nil, err
	}
	object = metav1.PartialObjectMetadata{}
	err = json.Unmarshal(text, &object)
	return object.ManagedFields, err
}

// asJSON returns the entries in a form in which the order of fields does not matter.
func asJSON(t *testing.T, entries []metav1.ManagedFieldsEntry) (result []map[string]any) {
	t.Helper()
	for _, entry := range entries {
		fields, err := convert[map[string]any](entry)
		if err != nil {
			t.Fatal(err)
		}
		result = append(result, *fields)
	}
	return result
}
