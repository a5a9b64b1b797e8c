package memcached

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// fields are the values at the leaves of an object's fields, by their paths.
type fields map[string]field

type field struct {
	path  fieldpath.Path
	value any
}

// ownedFields returns what the operator has applied to the Deployment, as the API server remembers it in managedFields. What
// the operator set when it created the Deployment is there too only after its first apply: a create is remembered as an
// update, together with all defaults.
func ownedFields(deployment *appsv1.Deployment) (fields, error) {
	owned := fields{}
	content, err := contentOf(deployment)
	if err != nil {
		return nil, err
	}
	for _, entry := range deployment.ManagedFields {
		if entry.Manager != cachev1alpha1.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		for path := range set.Leaves().All() {
			found, ok := valueAt(content, path)
			if !ok {
				return nil, fmt.Errorf("managedFields tell of %s, which is not there", path)
			}
			owned[path.String()] = field{path.Copy(), found}
		}
	}
	return owned, nil
}

// changedIn returns a line for each field whose value in the Deployment is another one.
func (f fields) changedIn(deployment *appsv1.Deployment) ([]string, error) {
	content, err := contentOf(deployment)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(f)) {
		found, ok := valueAt(content, f[path].path)
		switch {
		case !ok:
			changed = append(changed, fmt.Sprintf("%s is gone, it was %v", path, f[path].value))
		case !reflect.DeepEqual(found, f[path].value):
			changed = append(changed, fmt.Sprintf("%s is %v, it was %v", path, found, f[path].value))
		}
	}
	return changed, nil
}

// haveAll succeeds if the Deployment has all the fields with their values.
func haveAll(f fields) OmegaMatcher { return WithTransform(f.changedIn, BeEmpty()) }

func contentOf(deployment *appsv1.Deployment) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
}

// valueAt returns what is at the path below node.
func valueAt(node any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		parent, key, ok := locate(node, element)
		if !ok {
			return nil, false
		}
		if list, isList := parent.([]any); isList {
			node = list[key.(int)]
		} else {
			node = parent.(map[string]any)[key.(string)]
		}
	}
	return node, true
}

// locate finds an element of a path in node: by its name in a map, by its key fields in a list.
func locate(node any, element fieldpath.PathElement) (parent, key any, ok bool) {
	switch node := node.(type) {
	case map[string]any:
		if element.FieldName != nil {
			_, ok = node[*element.FieldName]
			return node, *element.FieldName, ok
		}
	case []any:
		if element.Key != nil {
			index := slices.IndexFunc(node, func(item any) bool { return hasKey(item, *element.Key) })
			return node, index, index >= 0
		}
	}
	return nil, nil, false
}

func hasKey(item any, key value.FieldList) bool {
	content, ok := item.(map[string]any)
	return ok && !slices.ContainsFunc(key, func(field value.Field) bool {
		return !value.Equals(field.Value, value.NewValueInterface(content[field.Name]))
	})
}

// replaced returns a copy of node in which the value at the path is another one; nil takes it away.
func replaced(node any, path fieldpath.Path, other any) any {
	if len(path) == 0 {
		return other
	}
	node = runtime.DeepCopyJSONValue(node)
	parent, key, ok := locate(node, path[0])
	if !ok {
		return node
	}
	if list, isList := parent.([]any); isList {
		index := key.(int)
		below := replaced(list[index], path[1:], other)
		if below == nil {
			return slices.Delete(list, index, index+1)
		}
		list[index] = below
		return list
	}
	fields, name := parent.(map[string]any), key.(string)
	below := replaced(fields[name], path[1:], other)
	if below == nil {
		delete(fields, name)
	} else {
		fields[name] = below
	}
	return fields
}

// damages returns the ways to damage a field of an object, the likelier ones first. Which are legal, the API server knows: a
// field may be required, or an enumeration, or go with others.
func damages(object map[string]any, f field) []*unstructured.Unstructured {
	var damaged []*unstructured.Unstructured
	add := func(path fieldpath.Path, value any) {
		damaged = append(damaged, &unstructured.Unstructured{Object: replaced(object, path, value).(map[string]any)})
	}
	parent, last := f.path[:len(f.path)-1], f.path[len(f.path)-1]
	for _, value := range otherValues(f.value) {
		add(f.path, value)
	}
	if last.FieldName != nil {
		for _, value := range otherValues(f.value) {
			add(parent, map[string]any{*last.FieldName: value}) // without its siblings, which may go with the old value alone
		}
	}
	return damaged
}

// without returns the object without the field.
func without(object map[string]any, f field) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: replaced(object, f.path, nil).(map[string]any)}
}

// otherValues returns values of the same type, of which one or another is legal wherever this one is.
func otherValues(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1}
	case string:
		return []any{"other", "100Mi", "50%", "Always", "Recreate", "Unconfined", "UDP"}
	case []any:
		return []any{append(slices.Clone(v), "other")}
	case map[string]any:
		return []any{map[string]any{"matchLabels": map[string]any{"other": "other"}}} // a label selector is owned as a whole
	default:
		return nil // an element of a list that is owned as a whole: it can be taken away
	}
}

func TestFields(t *testing.T) {
	g := NewWithT(t)
	content := map[string]any{
		"spec": map[string]any{"replicas": int64(1), "containers": []any{
			map[string]any{"name": "a", "image": "one"}, map[string]any{"name": "b", "image": "two"},
		}},
	}
	image := fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "b"), "image")
	found, ok := valueAt(content, image)
	g.Expect(ok).To(BeTrue())
	g.Expect(found).To(Equal("two"))
	_, ok = valueAt(content, fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "c"), "image"))
	g.Expect(ok).To(BeFalse())

	other := replaced(content, image, "three")
	found, _ = valueAt(other, image)
	g.Expect(found).To(Equal("three"))
	found, _ = valueAt(content, image)
	g.Expect(found).To(Equal("two"), "the original is as it was")

	g.Expect(replaced(content, image[:3], nil)).To(HaveKeyWithValue("spec", HaveKeyWithValue("containers", HaveLen(1))))
	g.Expect(without(content, field{path: image, value: "two"}).Object).To(
		HaveKeyWithValue("spec", HaveKeyWithValue("containers", ContainElement(map[string]any{"name": "b"}))))
}
