package watch

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Until follows the objects and returns nil as soon as accept is true for all of them that exist, or why ctx has ended. An API
// server that does not answer is asked again.
func Until(ctx context.Context, c client.WithWatch, list client.ObjectList, accept func([]client.Object) bool, opts ...client.ListOption) error {
	for state, err := range Follow(ctx, c, list, opts...) {
		if err == nil && accept(state.Objects()) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// Object is Until for one object: it waits until that exists and accept is true for it, and returns it.
func Object[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, key client.ObjectKey, accept func(T) bool) (T, error) {
	var last T
	err := Until(ctx, c, list, func(objects []client.Object) bool {
		if len(objects) == 0 {
			return false
		}
		last = objects[0].(T)
		return accept(last)
	}, Named(key)...)
	return last, err
}

// Named selects the one object of that name by the API server's own index.
func Named(key client.ObjectKey) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", key.Name)},
	}
}

// ListOf returns an empty list of objects of any kind.
func ListOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
