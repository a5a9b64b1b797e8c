package conformance

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestJudge(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped by somebody"))
	for name, tc := range map[string]struct {
		ctx   context.Context
		check func(context.Context, *verdict)
		why   string
	}{
		"what ends holds":               {t.Context(), func(context.Context, *verdict) {}, ""},
		"what fails ends there":         {t.Context(), func(_ context.Context, v *verdict) { v.Fatalf("%d pods", 2); v.Fatalf("too late") }, "2 pods"},
		"what panics does not hold":     {t.Context(), func(context.Context, *verdict) { panic("oh") }, "the check panicked: oh"},
		"what was stopped is no result": {stopped, func(context.Context, *verdict) {}, "stopped: stopped by somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.why == "" {
				g.Expect(judge(tc.ctx, tc.check)).To(BeEmpty())
			} else {
				g.Expect(judge(tc.ctx, tc.check)).To(HavePrefix(tc.why))
			}
		})
	}
}
