package history

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Before returns the objects of the kind as they were just before the revision, sorted by name.
func Before(versions []Version, kind string, revision uint64) []*unstructured.Unstructured {
	latest := map[types.UID]*unstructured.Unstructured{}
	for _, v := range versions {
		if v.Revision >= revision || v.Object.GetKind() != kind {
			continue
		}
		if v.Deleted {
			delete(latest, v.Object.GetUID())
		} else {
			latest[v.Object.GetUID()] = v.Object
		}
	}
	objects := make([]*unstructured.Unstructured, 0, len(latest))
	for _, object := range latest {
		objects = append(objects, object)
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return objects
}

// Of returns the versions of one object, by its UID.
func Of(versions []Version, uid types.UID) []Version {
	var of []Version
	for _, v := range versions {
		if v.Object.GetUID() == uid {
			of = append(of, v)
		}
	}
	return of
}
