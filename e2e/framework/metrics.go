package framework

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/onsi/gomega/types"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// WaitForMetrics waits until the result of scrape matches, because a program counts a write only after its response, and reports objects
// from a cache. Samples are as in [ParseMetrics].
//
//	framework.WaitForMetrics(ctx, s, scrape, HaveKeyWithValue("requests_total", 3.0))
func WaitForMetrics(ctx context.Context, s *Scope, scrape func(context.Context) (map[string]float64, error), matcher types.GomegaMatcher) {
	s.Helper()
	WaitFor(ctx, s, "the metrics", func(ctx context.Context) error {
		samples, err := scrape(ctx)
		if err != nil {
			return err
		}
		return match(samples, matcher)
	})
}

// ParseMetrics reads metrics in Prometheus's text format, and returns an error if r has another format. The result contains the value of
// each sample by its name and labels, which are in alphabetical order: requests_total{code="200", verb="get"}.
func ParseMetrics(r io.Reader) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, err
	}
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	if err != nil {
		return nil, err
	}
	samples := map[string]float64{}
	for _, sample := range vector {
		samples[sample.Metric.String()] = float64(sample.Value)
	}
	return samples, nil
}
