package ssa

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Fields returns the sorted paths, in the form of Drift, of the fields that desired sets, whatever their values are. An element of
// a list that is merged by key is identified by its keys, so another port is another field.
func Fields(desired *acappsv1.DeploymentApplyConfiguration) []string {
	paths := fieldsOf("", reflect.ValueOf(*desired))
	slices.Sort(paths)
	return paths
}

// fieldsOf returns the paths of the fields that a value of an apply configuration sets.
func fieldsOf(path string, value reflect.Value) (paths []string) {
	value = reflect.Indirect(value)
	switch {
	case value.Kind() == reflect.Struct && isApplyConfiguration(value.Type()):
		for i := range value.NumField() {
			if field := value.Type().Field(i); isSet(value.Field(i)) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				paths = append(paths, fieldsOf(join(path, name), value.Field(i))...)
			}
		}
		return paths
	case value.Kind() == reflect.Slice && isApplyConfiguration(value.Type().Elem()):
		list := mapLists[path[strings.LastIndex(path, ".")+1:]]
		for i := range value.Len() {
			paths = append(paths, fieldsOf(path+list.key(i, value.Index(i)), value.Index(i))...)
		}
		return paths
	case value.Kind() == reflect.Map:
		for key := range value.Seq2() {
			paths = append(paths, join(path, fmt.Sprint(key)))
		}
		return paths
	}
	return []string{path}
}

// isApplyConfiguration reports whether a type is a struct with fields that may not be set, unlike the API's own types.
func isApplyConfiguration(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasSuffix(t.Name(), "ApplyConfiguration")
}

// setsSameFields reports whether the operator last wrote live with the same fields as desired, so that none of them has to go
// away. It can't be seen in metadata.managedFields after a create, which counts the API server's defaults as the operator's fields.
func setsSameFields(live *appsv1.Deployment, desired *acappsv1.DeploymentApplyConfiguration) bool {
	written := live.Annotations[cachev1alpha1.AnnotationFieldsHash]
	return written != "" && written == desired.Annotations[cachev1alpha1.AnnotationFieldsHash]
}
