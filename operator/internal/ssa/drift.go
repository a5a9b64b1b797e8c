package ssa

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
)

// mapLists are the lists in a Deployment whose elements server-side apply merges by key, of those that we set. All other
// lists are replaced whole. The facts are those of the OpenAPI schema (x-kubernetes-list-map-keys).
var mapLists = map[string]mapList{
	"containers":      {keys: []string{"name"}},
	"ownerReferences": {keys: []string{"uid"}},
	"ports":           {keys: []string{"containerPort", "protocol"}, exclusive: true},
}

// mapList says how the elements of a list are told apart.
type mapList struct {
	keys []string
	// exclusive lists hold our elements and no others. An edited port has another key, so to server-side apply it is an
	// element that somebody else added: it would stay beside ours, with the same name, which the API server refuses.
	exclusive bool
}

// Drift returns the sorted paths, such as "spec.replicas", of the fields that desired sets and live does not have with the same
// value. Fields that desired does not set belong to others and are not drift. It sends no request.
func Drift(desired *acappsv1.DeploymentApplyConfiguration, live *appsv1.Deployment) ([]string, error) {
	want, err := toJSON(desired)
	if err != nil {
		return nil, err
	}
	// An object that was read with a typed client does not say what it is.
	delete(want, "apiVersion")
	delete(want, "kind")
	have, err := toJSON(live)
	if err != nil {
		return nil, err
	}
	paths := differences("", want, have)
	slices.Sort(paths)
	return paths, nil
}

// differences returns the paths below path at which want is not in have.
func differences(path string, want, have any) []string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return []string{path}
		}
		var paths []string
		for field, value := range want {
			paths = append(paths, differences(join(path, field), value, have[field])...)
		}
		return paths
	case []any:
		list, isMapList := mapLists[path[strings.LastIndex(path, ".")+1:]]
		if !isMapList {
			break
		}
		have, ok := have.([]any)
		if !ok {
			return []string{path}
		}
		if list.exclusive && len(have) > len(want) {
			return []string{path}
		}
		var paths []string
		for _, element := range want {
			key := list.key(element)
			index := slices.IndexFunc(have, func(other any) bool { return list.key(other) == key })
			if index < 0 {
				paths = append(paths, path+key)
				continue
			}
			paths = append(paths, differences(path+key, element, have[index])...)
		}
		return paths
	}
	if !reflect.DeepEqual(want, have) {
		return []string{path}
	}
	return nil
}

// key returns what tells an element of the list from the others, in the form in which a path shows it.
func (l mapList) key(element any) string {
	fields, _ := element.(map[string]any)
	var key strings.Builder
	for _, name := range l.keys {
		fmt.Fprintf(&key, "[%s=%v]", name, fields[name])
	}
	return key.String()
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// toJSON returns the value as encoding/json reads its JSON, so that values of different Go types can be compared.
func toJSON(value any) (map[string]any, error) {
	fields, err := convert[map[string]any](value)
	return *fields, err
}
