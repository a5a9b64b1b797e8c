package operators

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/example/operator-testbed/e2e/framework"
)

// samples are the metrics of a process, as framework.ParseMetrics returns them.
type samples map[string]float64

// scrape returns the metrics that an operator serves at an address, which has no path.
func scrape(ctx context.Context, address string) (samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("scrape the operator: %w", err)
	}
	defer response.Body.Close()
	result, err := framework.ParseMetrics(response.Body)
	if err != nil {
		return nil, fmt.Errorf("scrape the operator, which answered %s: %w", response.Status, err)
	}
	return result, nil
}

// reconciles returns how many times the reconciler of Memcacheds has been called.
func (s samples) reconciles() (int, error) {
	total := 0.0
	for name, value := range s {
		if strings.HasPrefix(name, `controller_runtime_reconcile_total{controller="memcached",`) {
			total += value
		}
	}
	if total == 0 {
		return 0, errors.New("the operator's metrics have no reconcile of a controller named memcached")
	}
	return int(total), nil
}

// liveHeap returns what the last garbage collection found to be in use, in MiB.
func (s samples) liveHeap() (float64, error) {
	live, isThere := s["go_gc_heap_live_bytes"]
	if !isThere {
		return 0, errors.New("the operator's metrics have no go_gc_heap_live_bytes, which controller-runtime registers")
	}
	return live / (1 << 20), nil
}
