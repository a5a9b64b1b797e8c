package embedded

import "sigs.k8s.io/e2e-framework/support"

// PortAttempts is how many ports are tried.
const PortAttempts = portAttempts

// WithPort lets a test choose the API server's port.
func WithPort(choose func() (int, error)) support.ClusterOpts {
	return option(func(o *options) { o.port = choose })
}
