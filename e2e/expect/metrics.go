package expect

import (
	"context"
	"errors"
	"time"

	"github.com/onsi/gomega/types"
)

// scrapePoll is how often metrics are scraped again while they are not as expected. They are asked for, as Prometheus does it;
// there is nothing to watch.
const scrapePoll = 20 * time.Millisecond

// Metrics waits until what a scrape finds matches: a program counts a write a moment after it was answered, and reports objects
// from a cache.
//
//	e.Metrics(ctx, scrape, HaveKeyWithValue("requests_total", 3.0))
func (e *Expecter) Metrics(ctx context.Context, scrape func(context.Context) (map[string]float64, error), matcher types.GomegaMatcher) {
	e.t.Helper()
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	last := errors.New("nothing was seen yet")
	for {
		samples, err := scrape(bounded)
		if err == nil {
			err = match(samples, matcher)
		}
		if err == nil {
			return
		}
		if bounded.Err() == nil { // else the scrape was cut short
			last = err
		}
		select {
		case <-bounded.Done():
			e.t.Fatalf("the metrics: %v (gave up after %s)", last, e.timeout)
			return
		case <-time.After(scrapePoll):
		}
	}
}
