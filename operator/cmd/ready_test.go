package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// fillingCache has synced when all kinds that it was asked for are in synced.
type fillingCache struct {
	cache.Cache
	asked, synced []schema.GroupVersionKind
}

func (c *fillingCache) GetInformer(_ context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kind, err := apiutil.GVKForObject(object, scheme)
	c.asked = append(c.asked, kind)
	var blocks cache.InformerGetOptions
	for _, option := range options {
		option(&blocks)
	}
	if blocks.BlockUntilSynced == nil || *blocks.BlockUntilSynced {
		return nil, errors.New("this waits for a cache that has not started")
	}
	return nil, err
}

func (c *fillingCache) WaitForCacheSync(context.Context) bool {
	return !slices.ContainsFunc(c.asked, func(kind schema.GroupVersionKind) bool { return !slices.Contains(c.synced, kind) })
}

// The operator is not ready before its cache has every kind of object that the reconciler reads, whatever has been asked for so far.
func TestCachesSynced(t *testing.T) {
	kinds := []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	}
	for i, missing := range kinds {
		c := &fillingCache{synced: slices.Delete(slices.Clone(kinds), i, i+1)}
		ready, err := cachesSynced(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if ready(&http.Request{}) == nil {
			t.Errorf("it is ready without %s", missing.Kind)
		}
		c.synced = kinds
		if err := ready(&http.Request{}); err != nil {
			t.Errorf("it is not ready with everything: %v", err)
		}
	}
	_, err := cachesSynced(t.Context(), failingCache{})
	if err == nil {
		t.Error("no error of a cache that has no informer")
	}
}

type failingCache struct{ cache.Cache }

func (failingCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errors.New("no such kind")
}
