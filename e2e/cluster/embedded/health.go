package embedded

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// healthPoll is the pause between two questions whether the API server answers
// yet: until it does there is nothing to watch.
const healthPoll = 20 * time.Millisecond

// untilOK returns when the API server answers a path with 200.
func untilOK(ctx context.Context, config *rest.Config, path string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for range watch.Poll(ctx, healthPoll) {
		if err = ask(ctx, client, config.Host+path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the last answer to %s was: %w", path, err)
}

func ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}
