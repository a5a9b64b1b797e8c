package record

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Before returns the objects of the kind, such as "Pod", that existed just before the revision, in their last version, sorted by name.
func Before(versions []Version, kind string, revision uint64) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, last := range lastBefore(versions, kind, revision) {
		if !last.Deleted {
			objects = append(objects, last.Object)
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return objects
}

// lastBefore returns the last version of each object of the kind before the revision.
func lastBefore(versions []Version, kind string, revision uint64) map[types.UID]Version {
	last := map[types.UID]Version{}
	for _, v := range versions {
		if v.Revision < revision && v.Object.GetKind() == kind {
			last[v.Object.GetUID()] = v
		}
	}
	return last
}

// Of returns the versions of the object with that UID, in the order of versions.
func Of(versions []Version, uid types.UID) []Version {
	return slices.DeleteFunc(slices.Clone(versions), func(v Version) bool { return v.Object.GetUID() != uid })
}
