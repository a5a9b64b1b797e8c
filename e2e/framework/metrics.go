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

// Metrics waits until what a scrape finds matches: a program counts a write a moment after it was answered, and reports objects
// from a cache.
//
//	e.Metrics(ctx, scrape, HaveKeyWithValue("requests_total", 3.0))
func (e *Expecter) Metrics(ctx context.Context, scrape func(context.Context) (map[string]float64, error), matcher types.GomegaMatcher) {
	e.t.Helper()
	e.Until(ctx, "the metrics", func(ctx context.Context) error {
		samples, err := scrape(ctx)
		if err != nil {
			return err
		}
		return match(samples, matcher)
	})
}

// ParseMetrics reads Prometheus's text format. It returns the samples by name and labels, which are in the order of the alphabet:
// requests_total{code="200", verb="get"}.
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
