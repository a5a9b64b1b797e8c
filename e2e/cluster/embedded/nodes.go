package embedded

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// node is a node that kwok plays: node-0, node-1, ...
func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelArchStable: runtime.GOARCH,
			corev1.LabelOSStable:   "linux",
		},
	}}
}

func createNodes(ctx context.Context, client corev1client.NodeInterface, count int) error {
	for i := range count {
		if _, err := client.Create(ctx, node(i), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node-%d: %w", i, err)
		}
	}
	return nil
}

// untilNodesReady returns when count nodes are Ready and free of the taint that
// says otherwise.
func untilNodesReady(ctx context.Context, client corev1client.NodeInterface, count int) error {
	if count == 0 {
		return nil
	}
	nodes := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: client.Watch,
	}
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

// untilDefaultAccount returns when pods can be created in the namespace
// default: they run as its ServiceAccount default.
func untilDefaultAccount(ctx context.Context, client corev1client.ServiceAccountsGetter) error {
	accounts := client.ServiceAccounts(metav1.NamespaceDefault)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, "default").String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
			o.FieldSelector = only
			return accounts.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return accounts.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, lw, &corev1.ServiceAccount{}, nil, func(event watch.Event) (bool, error) {
		return event.Type != watch.Deleted, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the ServiceAccount default in the namespace default: %w", err)
	}
	return nil
}
