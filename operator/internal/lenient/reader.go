package lenient

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Reader reads Memcacheds one by one. It reads objects of other types as its own Reader does.
type Reader struct {
	client.Reader

	// memo, if not nil, saves Get from decoding the same version of a Memcached again.
	memo *memo
}

// Get implements client.Reader. It returns an UndecodableError for a Memcached that can't be decoded.
func (r Reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok {
		return r.Reader.Get(ctx, key, object, options...)
	}
	raw := newRaw()
	// Decoding copies it.
	if err := r.Reader.Get(ctx, key, raw, append(slices.Clone(options), client.UnsafeDisableDeepCopy)...); err != nil {
		if apierrors.IsNotFound(err) {
			r.memo.forget(key)
		}
		return err
	}
	decoded, err := r.memo.decode(key, raw)
	if err != nil {
		return err
	}
	*mc = *decoded
	return nil
}

// List implements client.Reader. It leaves out the Memcacheds that can't be decoded; ListEach reports them.
func (r Reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	memcacheds, ok := list.(*cachev1alpha1.MemcachedList)
	if !ok {
		return r.Reader.List(ctx, list, options...)
	}
	memcacheds.Items = nil
	version, err := r.listEach(ctx, func(mc *cachev1alpha1.Memcached, err error) {
		if err == nil {
			memcacheds.Items = append(memcacheds.Items, *mc)
		}
	}, options)
	memcacheds.ResourceVersion = version
	return err
}

// ListEach calls see for each Memcached, with an UndecodableError for one that can't be decoded.
func (r Reader) ListEach(ctx context.Context, see func(*cachev1alpha1.Memcached, error), options ...client.ListOption) error {
	_, err := r.listEach(ctx, see, options)
	return err
}

func (r Reader) listEach(ctx context.Context, see func(*cachev1alpha1.Memcached, error), options []client.ListOption) (resourceVersion string, err error) {
	raw := &unstructured.UnstructuredList{}
	raw.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("MemcachedList"))
	if err := r.Reader.List(ctx, raw, append(slices.Clone(options), client.UnsafeDisableDeepCopy)...); err != nil {
		return "", err
	}
	for i := range raw.Items {
		see(Decode(&raw.Items[i]))
	}
	return raw.GetResourceVersion(), nil
}
