package install

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Absent returns those objects of the manifests that are not on the cluster: what starting the operator is going to add to it, except for the
// workload. On a cluster that outlives the operator, they are what to [Remove] afterwards.
func Absent(ctx context.Context, config *rest.Config, m manifest.Set) ([]*unstructured.Unstructured, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	var absent []*unstructured.Unstructured
	for _, object := range m.Without("Deployment") {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			absent = append(absent, object)
		case err != nil:
			return nil, fmt.Errorf("looking for %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return absent, nil
}

// Remove deletes the objects, the last one first, and waits until they are gone, and with a Namespace or a CustomResourceDefinition
// everything in it. Objects that do not exist are skipped.
func Remove(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured, how ...client.DeleteOption) error {
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	for _, object := range slices.Backward(objects) {
		err := c.Delete(ctx, object.DeepCopy(), how...)
		if err == nil {
			err = untilGone(ctx, c, object)
		}
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("removing %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

func untilGone(ctx context.Context, c client.WithWatch, object *unstructured.Unstructured) error {
	return watch.Until(ctx, c, watch.ListOf(object.GroupVersionKind()), func(objects []client.Object) bool { return len(objects) == 0 },
		watch.Named(client.ObjectKeyFromObject(object))...)
}
