package demo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// Sample is the Memcached that the demo shows.
type Sample struct {
	// Key is its namespace and name.
	Key    types.NamespacedName
	object *unstructured.Unstructured
}

// ReadSample reads the Memcached in a kustomization. Where that names no
// namespace it is "default", as for kubectl.
func ReadSample(dir string) (Sample, error) {
	manifests, err := manifest.Render(dir)
	if err != nil {
		return Sample{}, err
	}
	memcacheds := manifests.Select("Memcached")
	if len(memcacheds) != 1 {
		return Sample{}, fmt.Errorf("the kustomization %s holds %d Memcacheds where the demo shows one", dir, len(memcacheds))
	}
	object := memcacheds[0]
	if object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	return Sample{Key: client.ObjectKeyFromObject(object), object: object}, nil
}

// Apply applies the sample and returns the generation of its spec: a state of an
// earlier one says nothing about it.
func (s Sample) Apply(ctx context.Context, config *rest.Config) (generation int64, err error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return 0, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := install.Apply(ctx, c, []*unstructured.Unstructured{s.object}); err != nil {
		return 0, err
	}
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(s.object.GroupVersionKind())
	if err := c.Get(ctx, s.Key, applied); err != nil {
		return 0, fmt.Errorf("read the sample: %w", err)
	}
	return applied.GetGeneration(), nil
}
