// Package until waits, on watches, for what makes a new cluster usable.
package until

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// NodesReady returns when count nodes are Ready and free of the taint that says otherwise.
func NodesReady(ctx context.Context, c client.WithWatch, count int) error {
	if count == 0 {
		return nil
	}
	if err := watch.Until(ctx, c, &corev1.NodeList{}, func(nodes []client.Object) bool {
		return len(slices.DeleteFunc(nodes, func(node client.Object) bool { return !nodeReady(node.(*corev1.Node)) })) >= count
	}); err != nil {
		return fmt.Errorf("wait until %d nodes are Ready: %w", count, err)
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }) &&
		slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
}

// Object returns when the object of a name exists and is as it should be.
func Object[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, key client.ObjectKey, asItShould func(T) bool) error {
	if last, err := watch.Object(ctx, c, list, key, asItShould); err != nil {
		return fmt.Errorf("wait for the %T %s: %w", last, key, err)
	}
	return nil
}
