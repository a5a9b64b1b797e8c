package watch

import (
	"context"
	"errors"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// Established waits until the CustomResourceDefinition of a name is Established, and returns it. It fails where another one has the
// names of its kind.
func Established(ctx context.Context, c client.WithWatch, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := Object(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, client.ObjectKey{Name: name},
		func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.NamesAccepted)
		})
	if err == nil && apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.NamesAccepted) {
		err = errors.New(apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted).Message)
	}
	return crd, err
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
