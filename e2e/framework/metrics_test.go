package framework

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestMetrics(t *testing.T) {
	// Each scrape finds the next one; the last one again and again.
	scraping := func(found ...any) func(context.Context) (map[string]float64, error) {
		return func(context.Context) (map[string]float64, error) {
			next := found[0]
			if len(found) > 1 {
				found = found[1:]
			}
			if err, failed := next.(error); failed {
				return nil, err
			}
			return map[string]float64{"writes_total": next.(float64)}, nil
		}
	}
	for name, tc := range map[string]struct {
		found []any
		want  string // part of the failure; none: success
	}{
		"as expected":        {[]any{3.0}, ""},
		"after a while":      {[]any{errors.New("connection refused"), 2.0, 3.0}, ""},
		"not as expected":    {[]any{2.0}, `"writes_total": 2`},
		"no longer answered": {[]any{2.0, errors.New("connection refused")}, "the metrics: connection refused (gave up after 50ms)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict(t, newClient(interceptor.Funcs{}), brief, func(ctx context.Context, s *Scope) {
				WaitForMetrics(ctx, s, scraping(tc.found...), HaveKeyWithValue("writes_total", 3.0))
			})
			if tc.want == "" {
				NewWithT(t).Expect(got).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(got).To(ContainSubstring(tc.want))
		})
	}
}
