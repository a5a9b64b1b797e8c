package ssa

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
)

// mapLists are the lists in a Deployment whose elements server-side apply merges by key, of those that we set. All other
// lists are replaced whole. The facts are those of the OpenAPI schema (x-kubernetes-list-map-keys).
var mapLists = map[string]mapList{
	"containers":      {keys: []string{"Name"}},
	"ownerReferences": {keys: []string{"UID"}},
	"ports":           {keys: []string{"ContainerPort", "Protocol"}, exclusive: true},
}

// mapList says how the elements of a list are told apart.
type mapList struct {
	// keys are the names of the Go fields that no two elements have in common.
	keys []string
	// exclusive lists hold our elements and no others. An edited port has another key, so to server-side apply it is an
	// element that somebody else added: it would stay beside ours, with the same name, which the API server refuses.
	exclusive bool
}

// Drift returns the sorted paths, such as "spec.replicas", of the fields that desired sets and live does not have with the same
// value. Fields that desired does not set belong to others and are not drift. It sends no request.
func Drift(desired *acappsv1.DeploymentApplyConfiguration, live *appsv1.Deployment) []string {
	compared := *desired
	// An object that was read with a typed client does not say what it is.
	compared.APIVersion, compared.Kind = nil, nil
	paths := differences("", reflect.ValueOf(compared), reflect.ValueOf(*live))
	slices.Sort(paths)
	return paths
}

// differences returns the paths at which want, from an apply configuration, is not in have, from the API type at the same path.
// The structs of both have fields of the same Go names; in an apply configuration each is a pointer, a slice or a map, and nil if
// it is not set.
func differences(path string, want, have reflect.Value) []string {
	want = reflect.Indirect(want)
	if have.Kind() == reflect.Pointer {
		if have.IsNil() {
			return []string{path}
		}
		have = have.Elem()
	}
	switch {
	case want.Type() == have.Type() && want.Kind() != reflect.Map:
		if !equality.Semantic.DeepEqual(want.Interface(), have.Interface()) {
			return []string{path}
		}
		return nil
	case want.Kind() == reflect.Struct:
		return differencesOfStruct(path, want, have)
	case want.Kind() == reflect.Slice:
		return differencesOfList(path, want, have)
	}
	return differencesOfMap(path, want, have)
}

func differencesOfStruct(path string, want, have reflect.Value) (paths []string) {
	for i := range want.NumField() {
		value := want.Field(i)
		if !isSet(value) {
			continue
		}
		field := want.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		paths = append(paths, differences(join(path, name), value, have.FieldByName(strings.TrimSuffix(field.Name, "ApplyConfiguration")))...)
	}
	return paths
}

// differencesOfList compares lists of structs.
func differencesOfList(path string, want, have reflect.Value) (paths []string) {
	list, isMapList := mapLists[path[strings.LastIndex(path, ".")+1:]]
	if (list.exclusive || !isMapList) && have.Len() > want.Len() {
		return []string{path}
	}
	found := map[string]reflect.Value{}
	for i := range have.Len() {
		found[list.key(i, have.Index(i))] = have.Index(i)
	}
	for i := range want.Len() {
		key := list.key(i, want.Index(i))
		if element, isThere := found[key]; isThere {
			paths = append(paths, differences(path+key, want.Index(i), element)...)
		} else {
			paths = append(paths, path+key)
		}
	}
	return paths
}

// key returns what tells an element of the list from the others, in the form in which a path shows it. In a list that is replaced
// whole, it is the index.
func (l mapList) key(index int, element reflect.Value) string {
	if len(l.keys) == 0 {
		return fmt.Sprintf("[%d]", index)
	}
	var values []string
	for _, name := range l.keys {
		values = append(values, fmt.Sprint(reflect.Indirect(element.FieldByName(name))))
	}
	return "[" + strings.Join(values, ",") + "]"
}

func differencesOfMap(path string, want, have reflect.Value) (paths []string) {
	for key, value := range want.Seq2() {
		at := join(path, key.String())
		if found := have.MapIndex(key); found.IsValid() {
			paths = append(paths, differences(at, value, found)...)
		} else {
			paths = append(paths, at)
		}
	}
	return paths
}

// isSet reports whether a field of an apply configuration is set. Structs are set by their fields.
func isSet(field reflect.Value) bool {
	return field.Kind() == reflect.Struct || !field.IsNil()
}

func join(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}
