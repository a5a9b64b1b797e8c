package embedded

import (
	"context"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
)

// PortAttempts is how many ports are tried.
const PortAttempts = portAttempts

// WithPort lets a test choose the API server's port.
func WithPort(choose func() (int, error)) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.port = choose })
}

// Stored returns what the etcd of the cluster in a directory holds, by key.
func Stored(ctx context.Context, dir string) (all map[string]string, err error) {
	now, _, err := newEtcdClient(layout(dir).etcd()).read(ctx)
	all = map[string]string{}
	for key, is := range now {
		all[key] = string(is.Value)
	}
	return all, err
}

// WithStores lets a test choose the directory of the stores.
func WithStores(dir string) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.stores = dir })
}
