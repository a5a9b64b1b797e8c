// Package cluster gives a suite the cluster that its user asked for by name. A suite never knows where it runs: it gets
// e2e-framework's own provider interface, and asks for more through the small interfaces below.
package cluster

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Provider creates and destroys a cluster.
type Provider interface {
	support.E2EClusterProvider
	// Kind is the name that New was given.
	Kind() string
}

// Auditor is a cluster that keeps an audit log.
type Auditor interface {
	// AuditLog is the path of the API server's audit log, in JSON lines.
	AuditLog() string
}

// Kubelets is a cluster that knows whether its pods run anything.
type Kubelets interface {
	// RealKubelet is false where pods are only said to run.
	RealKubelet() bool
}

// Supervised is a cluster of host processes, beside which others can run.
type Supervised interface {
	// Supervisor is nil while the cluster is not up.
	Supervisor() *supervisor.Supervisor
}

// Neighbor is a cluster that knows whether it reaches this machine's loopback.
type Neighbor interface {
	// ReachesLoopback says that the API server can call a webhook on this machine's 127.0.0.1. A cluster in containers has a
	// loopback of its own.
	ReachesLoopback() bool
}

// Stocker is a cluster whose nodes run images that are brought to them.
type Stocker interface {
	// Stock brings an image to every node and returns its name: the one that the environment variable names; or the given one,
	// where it is at hand or can be pulled; or one like it, made from source.
	Stock(ctx context.Context, variable, image string) (string, error)
	// StockAs does so for manifests that name the image: what is made from source gets its name, too.
	StockAs(ctx context.Context, image string) error
}

// Host is a cluster whose pods' processes can be reached from outside of their containers.
type Host interface {
	// Signal sends a signal, such as "KILL", to the processes in a pod that are called so.
	Signal(ctx context.Context, pod *corev1.Pod, program, signal string) error
}

// Nodes is a cluster whose nodes can be stopped and started.
type Nodes interface {
	// StopNode stops a node without telling anybody.
	StopNode(ctx context.Context, node string) error
	// StartNode starts a node that was stopped.
	StartNode(ctx context.Context, node string) error
}

// Keeper is a cluster that its user may want to keep.
type Keeper interface {
	// Kept is a sentence on how to reach the cluster that Destroy leaves up, and how to take it down; empty when it leaves none.
	Kept() string
}

// Breakable is a cluster whose components can be broken and mended, to see what an operator makes of it.
type Breakable interface {
	// Component returns a handle on a component, such as "kube-apiserver".
	Component(name string) *embedded.Component
}

// Compactor is a cluster whose etcd can be made to forget what was.
type Compactor interface {
	// Compact leaves the last version of each object, and none before it.
	Compact(ctx context.Context) error
}

// Options are what can be chosen about a cluster. Those that a kind has no use for have no effect on it.
type Options struct {
	// CRDs are files and folders of CustomResourceDefinitions that are there from the cluster's start.
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
	switch which {
	case embedded.Kind:
		p := embedded.NewProvider()
		p.WithOpts(embedded.WithCRDs(o.CRDs...))
		if o.Progress != nil {
			p.WithOpts(embedded.WithProgress(o.Progress))
		}
		if o.Attached != "" {
			p.WithOpts(embedded.Attached(o.Attached))
		}
		return p, nil
	case kind.Kind:
		p := kind.NewProvider()
		p.WithOpts(kind.Temporary())
		if o.Progress != nil {
			p.WithOpts(kind.WithProgress(o.Progress))
		}
		if o.Keep {
			p.WithOpts(kind.Keep())
		}
		if o.Attached != "" {
			p.WithOpts(kind.Attached(o.Attached))
		}
		return p, nil
	case existing.Kind:
		return existing.NewProvider(), nil
	default:
		return nil, fmt.Errorf("there is no CLUSTER=%s: use one of %s, %s, %s", which, embedded.Kind, kind.Kind, existing.Kind)
	}
}
