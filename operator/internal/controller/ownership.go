package controller

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// portsOfOurs is the path of the ports of our container: the list that holds our elements and no others (see mapLists).
var portsOfOurs = fieldpath.MakePathOrDie("spec", "template", "spec", "containers",
	fieldpath.KeyByFields("name", containerName), "ports")

// takeOver returns the JSON patch to metadata.managedFields that has to come before a server-side apply, or nil when none
// is needed.
//
// A server-side apply removes what the applier owned by an earlier apply, sets no longer, and nobody else owns. Two things
// stand in its way. Creating is no apply: what the operator set by it, it owns as by an update. And ports that others put
// into our container are theirs. The patch hands both to the operator's entry of applied fields, and touches nothing else.
//
// It tests the entries that it changes instead of the resource version, so that the Deployment's controller may write the
// status at the same time, as it does all through a rollout. Only if that moves our entry in the list, which is sorted by
// time in seconds, the patch is refused as invalid. client-go's csaupgrade does the first half, but any write in between
// is a conflict.
func takeOver(entries []metav1.ManagedFieldsEntry) ([]byte, error) {
	var (
		ours = -1                       // the index of the entry that ends up with everything
		sets = map[int]*fieldpath.Set{} // what each entry that may change owns
		all  = fieldpath.NewSet()       // what our entry shall own
		kept = map[int]*fieldpath.Set{} // what others keep
	)
	for i, entry := range entries {
		if entry.Subresource != "" || entry.APIVersion != appsv1.SchemeGroupVersion.String() || entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading the fields that %q owns: %w", entry.Manager, err)
		}
		sets[i] = set
		if entry.Manager == cachev1alpha1.FieldManager {
			all = all.Union(set)
			if ours < 0 || entry.Operation == metav1.ManagedFieldsOperationApply {
				ours = i
			}
			continue
		}
		ports := below(portsOfOurs, set)
		all = all.Union(ports)
		kept[i] = set.Difference(ports)
	}
	if ours < 0 {
		return nil, nil
	}

	var tests, changes, removals []patchOperation
	for i, entry := range entries {
		before, known := sets[i]
		if !known {
			continue
		}
		after := entry
		fields := fieldpath.NewSet()
		switch {
		case i == ours:
			after.Operation = metav1.ManagedFieldsOperationApply
			fields = all
		case entry.Manager != cachev1alpha1.FieldManager:
			fields = kept[i]
		}
		if after.Operation == entry.Operation && fields.Equals(before) {
			continue
		}
		path := fmt.Sprintf("/metadata/managedFields/%d", i)
		tests = append(tests, patchOperation{Op: "test", Path: path, Value: entry})
		if fields.Empty() {
			// From the last to the first, so that no removal moves an entry that is still to be removed.
			removals = slices.Insert(removals, 0, patchOperation{Op: "remove", Path: path})
			continue
		}
		text, err := fields.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("writing the fields that %q owns: %w", entry.Manager, err)
		}
		after.FieldsV1 = metav1.NewFieldsV1(string(text))
		changes = append(changes, patchOperation{Op: "replace", Path: path, Value: after})
	}
	if tests == nil {
		return nil, nil
	}
	return json.Marshal(slices.Concat(tests, changes, removals))
}

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// below returns the members of set at or below path.
func below(path fieldpath.Path, set *fieldpath.Set) *fieldpath.Set {
	result := fieldpath.NewSet()
	for member := range set.All() {
		if len(member) >= len(path) && member[:len(path)].Equals(path) {
			result.Insert(member.Copy())
		}
	}
	return result
}
