package operators

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// residentMemory returns what a process holds now, in MiB. It asks ps, which says the same on Linux and macOS.
func residentMemory(ctx context.Context, pid int) (float64, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask ps for the memory of process %d: %w", pid, err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("the memory of process %d: ps said %q", pid, out)
	}
	return kib / 1024, nil
}

// reconciles returns how many times the operator whose metrics are at an address has called its reconciler for a Memcached. The
// metric is controller-runtime's.
func reconciles(ctx context.Context, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("scrape the operator: %w", err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("scrape the operator, which answered %s: %w", response.Status, err)
	}
	total := 0.0
	for _, metric := range families["controller_runtime_reconcile_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" && label.GetValue() == "memcached" {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	if total == 0 {
		return 0, fmt.Errorf("the operator's metrics, answered with %s, know no controller named memcached", response.Status)
	}
	return int(total), nil
}
