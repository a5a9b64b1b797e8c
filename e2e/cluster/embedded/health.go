package embedded

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// healthPoll is the pause between two questions whether the API server answers
// yet: until it does there is nothing to watch.
const healthPoll = 20 * time.Millisecond

// untilOK waits until the API server answers a path with 200.
func untilOK(ctx context.Context, config *rest.Config, path string) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	for range watch.Poll(ctx, healthPoll) {
		if err = client.RESTClient().Get().AbsPath(path).MaxRetries(0).Do(ctx).Error(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the last answer to %s was: %w", path, err)
}
