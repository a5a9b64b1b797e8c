package expect

import (
	"context"

	"github.com/onsi/gomega/types"
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
