// Package install applies the manifests of an operator to a cluster, and removes them. CustomResourceDefinitions are served when it
// returns.
package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is the field manager of what the testbed applies.
const fieldOwner = client.FieldOwner("testbed")

// Apply applies the objects in order, by server-side apply, so that a second time changes nothing.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		config := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.Apply(ctx, config, fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}
