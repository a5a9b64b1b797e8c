package watch

import (
	"context"
	"time"
)

// Poll yields at once, and then after each pause until ctx ends, for what can't be watched: a port, a file, what the API server
// would allow.
//
//	for range watch.Poll(ctx, 20*time.Millisecond) {
//		if err = ask(ctx); err == nil {
//			return nil
//		}
//	}
//	return err
func Poll(ctx context.Context, pause time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		for yield() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				if ctx.Err() != nil {
					return
				}
			}
		}
	}
}
