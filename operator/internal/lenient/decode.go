package lenient

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// UndecodableError reports that a Memcached does not fit its Go type.
type UndecodableError struct {
	// Object identifies the Memcached. Only its kind, name, UID and resource version are set.
	Object metav1.PartialObjectMetadata
	// Err says which field does not fit.
	Err error
}

// Error implements error.
func (e *UndecodableError) Error() string {
	return fmt.Sprintf("the Memcached %s/%s can't be decoded: %v", e.Object.Namespace, e.Object.Name, e.Err)
}

// Unwrap returns why the Memcached can't be decoded.
func (e *UndecodableError) Unwrap() error { return e.Err }

// Decode decodes a Memcached as a client does. The error is an UndecodableError.
func Decode(raw *unstructured.Unstructured) (*cachev1alpha1.Memcached, error) {
	content, err := json.Marshal(raw.Object)
	mc := &cachev1alpha1.Memcached{}
	if err == nil {
		err = json.Unmarshal(content, mc)
	}
	if err != nil {
		return nil, &UndecodableError{Err: err, Object: metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: cachev1alpha1.GroupVersion.String(), Kind: "Memcached"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: raw.GetNamespace(), Name: raw.GetName(), UID: raw.GetUID(), ResourceVersion: raw.GetResourceVersion(),
			},
		}}
	}
	return mc, nil
}

// Decoded returns a Memcached from an event of a watch, decoded if the cache holds it as it is. It returns nil for an object of
// another kind.
func Decoded(object runtime.Object) (*cachev1alpha1.Memcached, error) {
	if raw, ok := object.(*unstructured.Unstructured); ok {
		return Decode(raw)
	}
	mc, _ := object.(*cachev1alpha1.Memcached)
	return mc, nil
}

// IsUndecodable reports whether an object is a Memcached, as the cache holds it, that can't be decoded.
func IsUndecodable(object runtime.Object) bool {
	_, err := Decoded(object)
	return err != nil
}

// newRaw returns an empty Memcached that any content fits.
func newRaw() *unstructured.Unstructured {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	return raw
}
