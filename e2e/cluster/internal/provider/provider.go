// Package provider is what the implementations of e2e-framework's support.E2EClusterProvider have in common.
package provider

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Option returns an option for providers of type P. It has no effect on others.
func Option[P support.E2EClusterProvider](change func(P)) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if p, ok := p.(P); ok {
			change(p)
		}
	}
}

// WithOpts applies the options to the provider and returns it.
func WithOpts(p support.E2EClusterProvider, opts []support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// RestConfig returns the access that a kubeconfig file gives, without a limit on requests per second: the API server has its own.
func RestConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// Copy returns a copy of the access to a cluster, or nil where there is none.
func Copy(config *rest.Config) *rest.Config {
	if config == nil {
		return nil
	}
	return rest.CopyConfig(config)
}

// WaitForNodes waits until count nodes are Ready, and no taint says otherwise.
func WaitForNodes(ctx context.Context, c client.WithWatch, count int) error {
	if count == 0 {
		return nil
	}
	if err := watch.Until(ctx, c, &corev1.NodeList{}, func(nodes []client.Object) bool {
		return len(slices.DeleteFunc(nodes, func(node client.Object) bool { return !ready(node.(*corev1.Node)) })) >= count
	}); err != nil {
		return fmt.Errorf("wait until %d nodes are Ready: %w", count, err)
	}
	return nil
}

func ready(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	}) &&
		slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
}
