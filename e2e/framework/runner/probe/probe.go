// Package probe makes an operator's readiness probe.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Timeout is how long a replica may take to answer: as long as three probes of a kubelet take, which takes a pod for unready that has
// missed them, so that a replica on a busy machine is not taken for one that hangs.
const Timeout = 3 * time.Second

// Ready makes the readiness probe at the address (host:port), and returns why the operator there is not ready.
func Ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	} else if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", request.URL, response.Status)
	}
	return nil
}
