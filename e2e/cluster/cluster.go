// Package cluster provides the cluster that the user of a suite has chosen by name. A suite does not know where it runs: it uses
// e2e-framework's own provider interface, and [Capabilities] for what one cluster can do and another can't.
package cluster

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// Provider creates and destroys a cluster, and returns its [Capabilities].
type Provider interface {
	support.E2EClusterProvider
	// Capabilities returns what the cluster can do, once Create has returned.
	Capabilities() Capabilities
}

// Options are the options of a cluster. Those that do not apply to its kind have no effect.
type Options struct {
	// CRDs are files and directories of CustomResourceDefinitions to install when the cluster starts.
	CRDs []string
	// Progress receives a line for each step of Create, if it is not nil. A kind cluster, which takes long and says which images it uses,
	// writes them to standard error instead.
	Progress io.Writer
	// Keep makes Destroy leave a cluster that outlives this program.
	Keep bool
	// Attached is the name of a cluster to use instead of a new one, if it is not empty. That cluster must be up, stays up, and keeps
	// its CustomResourceDefinitions. An embedded one is reset first.
	Attached string
	// Pool is the directory of a pool that lends embedded clusters, if it is not empty.
	Pool string
}

// Embedded is the kind of cluster that is made of host processes.
const Embedded = embedded.Kind

// HasNodesToStop reports whether such a cluster has real nodes that a test may stop.
func HasNodesToStop(which string) bool { return which == kind.Kind }

// Engine is the program that builds images for clusters whose nodes are containers, such as docker.
func Engine() string { return kind.Program() }

// New returns a provider for the kind of cluster, which is "embedded", "kind" or "existing".
func New(which string, o Options) (Provider, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	switch which {
	case embedded.Kind:
		p := embedded.NewProvider()
		p.WithOpts(embedded.WithCRDs(o.CRDs...), embedded.WithProgress(o.Progress))
		switch {
		case o.Attached != "":
			p.WithOpts(embedded.Attached(o.Attached))
		case o.Pool != "":
			loan := &borrowed{pool: o.Pool, lost: make(chan struct{})}
			p.WithOpts(embedded.Borrowed(loan.borrow))
			return embeddedCluster{Provider: p, lost: loan.lost}, nil
		}
		return embeddedCluster{Provider: p}, nil
	case kind.Kind:
		p := kind.NewProvider()
		p.WithOpts(kind.Temporary(), kind.WithProgress(os.Stderr))
		if o.Keep {
			p.WithOpts(kind.Keep())
		}
		if o.Attached != "" {
			p.WithOpts(kind.Attached(o.Attached))
		}
		return kindCluster{p}, nil
	case existing.Kind:
		if o.Attached != "" {
			return nil, fmt.Errorf("TESTBED_CLUSTER=%s names a cluster of the testbed, and CLUSTER=existing is another one: unset TESTBED_CLUSTER", o.Attached)
		}
		return existingCluster{existing.NewProvider()}, nil
	default:
		return nil, fmt.Errorf("there is no CLUSTER=%s: use one of %s, %s, %s", which, embedded.Kind, kind.Kind, existing.Kind)
	}
}
