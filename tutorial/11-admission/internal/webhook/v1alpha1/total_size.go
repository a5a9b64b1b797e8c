package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

var sizePath = field.NewPath("spec", "size")

// sizeOf returns the size that a Memcached asks for.
func sizeOf(mc *cachev1alpha1.Memcached) int32 {
	return ptr.Deref(mc.Spec.Size, cachev1alpha1.DefaultSize)
}

// checkTotalSize returns why the named Memcached can't have that size next to the other Memcacheds of its namespace, or nil. A
// Memcached of the same name is the one that is being replaced, so it does not count. Neither do Memcacheds that are being
// deleted.
func checkTotalSize(limit int64, name string, size int32, namespace []cachev1alpha1.Memcached) *field.Error {
	var others int64
	for i := range namespace {
		if other := &namespace[i]; other.Name != name && other.DeletionTimestamp == nil {
			others += int64(sizeOf(other))
		}
	}
	if others+int64(size) <= limit {
		return nil
	}
	return field.Forbidden(sizePath, fmt.Sprintf(
		"the sizes of all Memcacheds of a namespace may sum up to %d: the others have %d, which leaves %d, and %d was asked for",
		limit, others, max(limit-others, 0), size))
}
