package operators

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/framework"
)

// metrics are figures that controller-runtime's registry has of every operator.
type metrics struct {
	// reconciles is how often the reconciler of Memcacheds was called.
	reconciles float64
	// cpu is the processor time of the process.
	cpu time.Duration
	// heap is what the last garbage collection found to be in use, in MiB.
	heap float64
}

// scrape returns the metrics that an operator serves at an address, which has no path.
func scrape(ctx context.Context, address string) (metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return metrics{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return metrics{}, fmt.Errorf("scrape the operator: %w", err)
	}
	defer response.Body.Close()
	samples, err := framework.ParseMetrics(response.Body)
	if err != nil {
		return metrics{}, fmt.Errorf("scrape the operator, which answered %s: %w", response.Status, err)
	}
	const cpu, heap = "process_cpu_seconds_total", "go_gc_heap_live_bytes"
	found := metrics{cpu: time.Duration(samples[cpu] * float64(time.Second)), heap: samples[heap] / (1 << 20)}
	for name, value := range samples {
		if strings.HasPrefix(name, `controller_runtime_reconcile_total{controller="memcached",`) {
			found.reconciles += value
		}
	}
	if found.reconciles == 0 || samples[cpu] == 0 || samples[heap] == 0 {
		return metrics{}, fmt.Errorf("the operator's metrics must have reconciles of a controller named memcached, %s and %s", cpu, heap)
	}
	return found, nil
}
