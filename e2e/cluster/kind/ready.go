package kind

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// untilReady returns when count nodes are Ready and the cluster's own Deployments are Available.
func untilReady(ctx context.Context, client kubernetes.Interface, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := untilNodesReady(ctx, client, count); err != nil {
			return fmt.Errorf("wait until %d nodes are Ready: %w", count, reason(ctx, err))
		}
		return nil
	})
	for namespace, name := range map[string]string{"kube-system": "coredns", "local-path-storage": "local-path-provisioner"} {
		group.Go(func() error {
			if err := untilAvailable(ctx, client, namespace, name); err != nil {
				return fmt.Errorf("wait until the Deployment %s in %s is Available: %w", name, namespace, reason(ctx, err))
			}
			return nil
		})
	}
	return group.Wait()
}

// reason is why ctx has ended, if it has.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func untilNodesReady(ctx context.Context, client kubernetes.Interface, count int) error {
	nodes := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Nodes().List(ctx, o)
		},
		WatchFuncWithContext: client.CoreV1().Nodes().Watch,
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
	return err
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func untilAvailable(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	deployments := client.AppsV1().Deployments(namespace)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return deployments.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return deployments.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, lw, &appsv1.Deployment{}, nil, func(event watch.Event) (bool, error) {
		return event.Type != watch.Deleted && available(event.Object.(*appsv1.Deployment)), nil
	})
	return err
}

// available says that all replicas that are asked for are ready.
func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Spec.Replicas != nil &&
		d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas
}
