package kind

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// untilReady returns when count nodes are Ready and the Deployments are Available.
func untilReady(ctx context.Context, config *rest.Config, count int, deployments []client.ObjectKey) error {
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return provider.WaitForNodes(ctx, c, count) })
	for _, key := range deployments {
		group.Go(func() error {
			if _, err := rollout.Available(ctx, config, key); err != nil {
				return fmt.Errorf("wait for the Deployment %s: %w", key, err)
			}
			return nil
		})
	}
	return group.Wait()
}
