package conformance

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// verdict is what becomes of a point. It stands where assertions expect a *testing.T.
type verdict struct {
	why string // why the claim does not hold; empty while it does
}

// Helper is what assertions say of themselves; a verdict has no use for it.
func (*verdict) Helper() {}

// Fatalf says why the claim does not hold, and ends its check.
func (v *verdict) Fatalf(format string, args ...any) {
	v.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// judge runs a check to its end and returns why its claim does not hold, or "".
func judge(ctx context.Context, check func(context.Context, *verdict)) string {
	var v verdict
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				v.why = fmt.Sprintf("the check panicked: %v\n%s", r, debug.Stack())
			}
		}()
		check(ctx, &v)
	}()
	<-done
	if v.why == "" && ctx.Err() != nil {
		return "stopped: " + context.Cause(ctx).Error()
	}
	return strings.TrimSpace(v.why)
}
