package ssa

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// takeOver returns the JSON patch of metadata.managedFields that must precede a server-side apply by the owner, or nil if none is
// needed. Elements that others have added to the exclusive lists become the owner's. sameFields is whether the apply sets the fields
// that the owner set before. If so, and if there are no such elements, nothing has to go away, and it does not matter that some of
// the fields belong to the owner by an update as well.
//
// The patch tests the entries that it changes instead of the resource version, so that the Deployment's controller can write the
// status at the same time, as it does throughout a rollout. Only if such a write moves the owner's entry within the list, which
// is sorted by time in seconds, does the API server refuse the patch as invalid. client-go's csaupgrade changes the operation of
// the owner's entry too, but fails with a conflict after any write in between.
func takeOver(entries []metav1.ManagedFieldsEntry, owner string, exclusive []fieldpath.Path, sameFields bool) ([]byte, error) {
	var (
		ours = -1                       // the index of the owner's entry
		sets = map[int]*fieldpath.Set{} // the fields of each entry that may change, by index
		all  = fieldpath.NewSet()       // the fields of the owner's entry afterwards
		kept = map[int]*fieldpath.Set{} // the fields of each other entry afterwards
	)
	for i, entry := range entries {
		if entry.Subresource != "" || entry.APIVersion != appsv1.SchemeGroupVersion.String() || entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read the fields that %q owns: %w", entry.Manager, err)
		}
		sets[i] = set
		if entry.Manager == owner {
			all = all.Union(set)
			ours = i
			continue
		}
		taken := below(exclusive, set)
		all = all.Union(taken)
		kept[i] = set.Difference(taken)
	}
	foreignStay := true
	for i, set := range kept {
		foreignStay = foreignStay && set.Equals(sets[i])
	}
	if ours < 0 || sameFields && foreignStay {
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
		case entry.Manager != owner:
			fields = kept[i]
		}
		if after.Operation == entry.Operation && fields.Equals(before) {
			continue
		}
		path := fmt.Sprintf("/metadata/managedFields/%d", i)
		tests = append(tests, patchOperation{Op: "test", Path: path, Value: entry})
		if fields.Empty() {
			// Removing the last entry first keeps the indexes of the others valid.
			removals = slices.Insert(removals, 0, patchOperation{Op: "remove", Path: path})
			continue
		}
		text, err := fields.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("write the fields that %q owns: %w", entry.Manager, err)
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

// below returns the members of set at or below one of the paths.
func below(paths []fieldpath.Path, set *fieldpath.Set) *fieldpath.Set {
	result := fieldpath.NewSet()
	for member := range set.All() {
		for _, path := range paths {
			if len(member) >= len(path) && member[:len(path)].Equals(path) {
				result.Insert(member.Copy())
			}
		}
	}
	return result
}

// Managers returns the sorted names of the field managers, other than owner, of the fields at the paths, which are in the form of
// Drift.
func Managers(entries []metav1.ManagedFieldsEntry, owner string, paths []string) (names []string) {
	for _, entry := range entries {
		set := fieldpath.NewSet()
		if entry.Manager == owner || entry.Subresource == "status" || entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			continue
		}
		for member := range set.Leaves().All() { // which can't be left early
			if slices.ContainsFunc(paths, func(path string) bool { return overlap(path, pathOf(member)) }) {
				names = append(names, entry.Manager)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pathOf returns a path in the form of Drift, as far as that goes: a list that is replaced as a whole is a leaf.
func pathOf(path fieldpath.Path) (result string) {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			result = join(result, *element.FieldName)
		case element.Key != nil:
			var values []string
			for _, field := range *element.Key {
				values = append(values, fmt.Sprint(field.Value.Unstructured()))
			}
			result += "[" + strings.Join(values, ",") + "]"
		default:
			return result
		}
	}
	return result
}

// overlap reports whether one of two paths is the other one or below it.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, found := strings.CutPrefix(b, a)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
