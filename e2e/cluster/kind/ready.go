package kind

import (
	"context"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/example/operator-testbed/e2e/cluster/internal/until"
)

// untilReady returns when count nodes are Ready and the cluster's own Deployments are Available.
func untilReady(ctx context.Context, client kubernetes.Interface, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return until.NodesReady(ctx, client.CoreV1().RESTClient(), count) })
	for namespace, name := range map[string]string{"kube-system": "coredns", "local-path-storage": "local-path-provisioner"} {
		group.Go(func() error {
			return until.Object(ctx, client.AppsV1().RESTClient(), "deployments", namespace, name, available)
		})
	}
	return group.Wait()
}

// available says that all replicas that are asked for are ready.
func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Spec.Replicas != nil &&
		d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas
}
