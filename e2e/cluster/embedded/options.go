package embedded

import (
	"context"
	"io"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/loopback"
)

// options are what can be chosen about a cluster.
type options struct {
	version  string
	assets   string
	crds     []string
	nodes    int
	detached bool
	attached bool
	borrow   Borrow
	progress io.Writer
	port     func() (int, error)
	stores   string // a directory; empty means the one in the cache
	emulated string // the older version of Kubernetes that the cluster behaves like, such as 1.36; empty means its own
}

func defaults() options {
	return options{version: Version, nodes: 2, progress: io.Discard, port: loopback.FreePort}
}

// WithCRDs installs the CustomResourceDefinitions in these files and directories as soon as the API server answers. They are
// Established when [Provider.Create] returns, and the garbage collector knows them from its start.
func WithCRDs(paths ...string) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.crds = append(p.options.crds, paths...) })
}

// WithNodes sets the number of simulated nodes, which are called node-0, node-1 and so on. The default is 2.
func WithNodes(n int) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.nodes = n })
}

// WithEmulatedVersion makes kube-apiserver, kube-controller-manager and kube-scheduler behave like an older version, such as one of
// [EmulatedVersions]: without the APIs, fields and CEL functions that are newer.
func WithEmulatedVersion(version string) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.emulated = version })
}

// Detached lets the cluster outlive the program that creates it. Others find it with [Attach].
func Detached() support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.detached = true })
}

// Attached makes [Provider.Create] reset the cluster of that name, which must be up, instead of creating one; the error is an
// [*InUseError] while another program is attached to it. [Provider.Destroy] leaves it up.
func Attached(name string) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.name, p.options.attached = name, true })
}

// Borrow returns the name of a cluster that is up, and as [Provider.Create] would return it with the CustomResourceDefinitions in these
// files and directories. giveBack is called when the cluster is no longer used.
type Borrow func(ctx context.Context, crds []string) (name string, giveBack func() error, err error)

// Borrowed makes [Provider.Create] borrow a cluster instead of creating one, and [Provider.Destroy] give it back.
func Borrowed(borrow Borrow) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.borrow = borrow })
}

// WithProgress makes [Provider.Create] write a short line to w for each step.
func WithProgress(w io.Writer) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.options.progress = w })
}
