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

// mapLists are the lists that the operator sets in a Deployment and that server-side apply merges by key, as the OpenAPI schema
// says (x-kubernetes-list-map-keys). All other lists are replaced as a whole.
var mapLists = map[string]mapList{
	"containers":                {keys: []string{"Name"}},
	"ownerReferences":           {keys: []string{"UID"}},
	"ports":                     {keys: []string{"ContainerPort", "Protocol"}, exclusive: true},
	"topologySpreadConstraints": {keys: []string{"TopologyKey", "WhenUnsatisfiable"}},
}

// mapList says how the elements of a list are identified.
type mapList struct {
	// keys are the names of the Go fields that identify an element.
	keys []string
	// exclusive lists, all of them in containers, hold only the operator's elements. An edited port has another key, so server-side
	// apply treats it as an element that another manager added. It would stay next to ours with the same name, which the API server
	// refuses.
	exclusive bool
}

// Drift returns the sorted paths, such as "spec.replicas", of the fields that desired sets and that have another value in live.
// Fields that desired does not set belong to others and are not drift. Drift sends no request.
func Drift(desired *acappsv1.DeploymentApplyConfiguration, live *appsv1.Deployment) []string {
	compared := *desired
	// A typed client leaves APIVersion and Kind empty in the objects that it reads.
	compared.APIVersion, compared.Kind = nil, nil
	paths := differences("", reflect.ValueOf(compared), reflect.ValueOf(*live))
	slices.Sort(paths)
	return paths
}

// differences returns the paths at which have, a value of the API type, lacks what want, from the apply configuration, sets. The
// structs of both have fields with the same Go names. In an apply configuration each field is a pointer, a slice or a map, and
// nil if it is not set.
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

// key returns what identifies an element of the list, in the form that paths use. In a list that is replaced as a whole, it is
// the index.
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

// isSet reports whether a field of an apply configuration is set. A struct always counts as set, because its own fields are
// checked.
func isSet(field reflect.Value) bool {
	return field.Kind() == reflect.Struct || !field.IsNil()
}

func join(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}
