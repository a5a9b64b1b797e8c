// Package until waits, on watches, for what makes a new cluster usable.
package until

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// NodesReady returns when count nodes are Ready and free of the taint that says otherwise. The client is that of the core API.
func NodesReady(ctx context.Context, core cache.Getter, count int) error {
	if count == 0 {
		return nil
	}
	nodes := cache.NewListWatchFromClient(core, "nodes", metav1.NamespaceAll, fields.Everything())
	ready := map[string]bool{}
	_, err := watchtools.UntilWithSync(ctx, nodes, &corev1.Node{}, nil, func(event watch.Event) (bool, error) {
		node := event.Object.(*corev1.Node)
		if event.Type != watch.Deleted && nodeReady(node) {
			ready[node.Name] = true
		} else {
			delete(ready, node.Name)
		}
		return len(ready) >= count, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d nodes are Ready: %w", count, reason(ctx, err))
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }) &&
		slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
}

// Object returns when the object of a name is there and as it should be. The client is that of its API, such as
// AppsV1().RESTClient() for the resource deployments.
func Object[T runtime.Object](ctx context.Context, api cache.Getter, resource, namespace, name string, asItShould func(T) bool) error {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name)
	var kind T
	_, err := watchtools.UntilWithSync(ctx, cache.NewListWatchFromClient(api, resource, namespace, only), kind, nil,
		func(event watch.Event) (bool, error) {
			return event.Type != watch.Deleted && asItShould(event.Object.(T)), nil
		})
	if err != nil {
		return fmt.Errorf("wait for %s of %s in %s: %w", name, resource, namespace, reason(ctx, err))
	}
	return nil
}

// reason is why ctx has ended, if it has.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
