package operators

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families are the metrics of a process, by name.
type families map[string]*dto.MetricFamily

// scrape returns the metrics that an operator serves at an address, which has no path.
func scrape(ctx context.Context, address string) (families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("scrape the operator: %w", err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	result, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("scrape the operator, which answered %s: %w", response.Status, err)
	}
	return result, nil
}

// reconciles returns how many times the reconciler of Memcacheds has been called.
func (f families) reconciles() (int, error) {
	total := 0.0
	for _, metric := range f["controller_runtime_reconcile_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" && label.GetValue() == "memcached" {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	if total == 0 {
		return 0, errors.New("the operator's metrics have no reconcile of a controller named memcached")
	}
	return int(total), nil
}

// liveHeap returns what the last garbage collection found to be in use, in MiB.
func (f families) liveHeap() (float64, error) {
	live := f["go_gc_heap_live_bytes"].GetMetric()
	if len(live) == 0 {
		return 0, errors.New("the operator's metrics have no go_gc_heap_live_bytes, which controller-runtime registers")
	}
	return live[0].GetGauge().GetValue() / (1 << 20), nil
}
