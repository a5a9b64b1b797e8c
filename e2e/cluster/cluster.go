// Package cluster gives a suite the cluster that its user asked for by name. A suite never knows where it runs: it gets
// e2e-framework's own provider interface, and [Capabilities] for what one cluster can do and another can't.
package cluster

import (
	"fmt"
	"io"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// Provider creates and destroys a cluster, and says what can be done with it.
type Provider interface {
	support.E2EClusterProvider
	// Capabilities returns what the cluster can do, once Create has returned.
	Capabilities() Capabilities
}

// Options are what can be chosen about a cluster. Those that a kind has no use for have no effect on it.
type Options struct {
	// CRDs are files and directories of CustomResourceDefinitions that are there from the cluster's start.
	CRDs []string
	// Progress gets a line for each step of Create; nil means none.
	Progress io.Writer
	// Keep makes Destroy leave a cluster that outlives this program.
	Keep bool
	// Attached names a cluster that is up, and stays up, to use in place of a new one; empty means none. It keeps the
	// CustomResourceDefinitions that it has. An embedded one is reset first.
	Attached string
}

// New returns a provider for the kind of cluster, which is "embedded", "kind" or "existing".
func New(which string, o Options) (Provider, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	switch which {
	case embedded.Kind:
		p := embedded.NewProvider()
		p.WithOpts(embedded.WithCRDs(o.CRDs...), embedded.WithProgress(o.Progress))
		if o.Attached != "" {
			p.WithOpts(embedded.Attached(o.Attached))
		}
		return embeddedCluster{p}, nil
	case kind.Kind:
		p := kind.NewProvider()
		p.WithOpts(kind.Temporary(), kind.WithProgress(o.Progress))
		if o.Keep {
			p.WithOpts(kind.Keep())
		}
		if o.Attached != "" {
			p.WithOpts(kind.Attached(o.Attached))
		}
		return kindCluster{p}, nil
	case existing.Kind:
		return existingCluster{existing.NewProvider()}, nil
	default:
		return nil, fmt.Errorf("there is no CLUSTER=%s: use one of %s, %s, %s", which, embedded.Kind, kind.Kind, existing.Kind)
	}
}
