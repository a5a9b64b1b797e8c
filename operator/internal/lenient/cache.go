package lenient

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// lenientCache is a cache that holds Memcacheds as they are, and decodes them when they are read: for Get, once for each version. The
// objects in the events of its informer are *unstructured.Unstructured.
type lenientCache struct {
	cache.Cache
	reader Reader
}

// NewCache returns a cache that serves all Memcacheds but those that can't be decoded. It is a cache.NewCacheFunc.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	all, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return &lenientCache{Cache: all, reader: Reader{all, &memo{}}}, nil
}

// Get implements client.Reader.
func (c *lenientCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (c *lenientCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}

// GetInformer implements cache.Informers.
func (c *lenientCache) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	return c.Cache.GetInformer(ctx, inCache(object), options...)
}

// GetInformerForKind implements cache.Informers.
func (c *lenientCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	if kind == cachev1alpha1.GroupVersion.WithKind("Memcached") {
		return c.Cache.GetInformer(ctx, newRaw(), options...)
	}
	return c.Cache.GetInformerForKind(ctx, kind, options...)
}

// RemoveInformer implements cache.Informers.
func (c *lenientCache) RemoveInformer(ctx context.Context, object client.Object) error {
	return c.Cache.RemoveInformer(ctx, inCache(object))
}

// IndexField implements client.FieldIndexer. The function for Memcacheds gets them as the cache holds them.
func (c *lenientCache) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	return c.Cache.IndexField(ctx, inCache(object), field, extract)
}

// inCache returns an object of the type that the cache has an informer for.
func inCache(object client.Object) client.Object {
	if _, ok := object.(*cachev1alpha1.Memcached); ok {
		return newRaw()
	}
	return object
}
