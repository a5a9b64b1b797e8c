package memcached

import (
	"context"
	"net/http"

	"github.com/example/operator-testbed/e2e/framework"
)

// behindProxy restarts the operator, which reaches the API server through a proxy until its next restart. The proxy stops with the
// test. A wire breaks connections, and a proxy sees requests: intercept returns the handler of these, which passes them on with pass.
func behindProxy(ctx context.Context, s *framework.Scope, intercept func(pass http.Handler) http.Handler) {
	s.Helper()
	proxied := s.Proxied(ctx, intercept)
	s.Cleanup(func() { restart(context.WithoutCancel(ctx), s) })
	restart(ctx, s, proxied)
}
