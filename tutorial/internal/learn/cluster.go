package learn

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// Kinds are the kinds of cluster that can be beside the text.
var Kinds = []string{embedded.Kind, kind.Kind}

// up is a cluster that is up.
type up struct {
	config   *rest.Config
	auditLog string
	// closing waits until the cluster is taken down, or nobody knows.
	closing func(context.Context)
}

// errStarting is the error of a cluster that somebody is bringing up.
var errStarting = errors.New("the cluster is being brought up")

// finder finds the learner's cluster. It returns nil if it is not up, and [errStarting] while somebody brings it up.
type finder func(context.Context) (*up, error)

// finderOf returns the finder of a cluster of that kind and name, and the pause between two looks: there is nothing to watch before
// it is up.
func finderOf(kindOfCluster, name string) (find finder, pause time.Duration) {
	if kindOfCluster == kind.Kind {
		return func(ctx context.Context) (*up, error) { return findKind(ctx, name) }, 2 * time.Second
	}
	return func(ctx context.Context) (*up, error) { return findEmbedded(ctx, name) }, 250 * time.Millisecond
}

func findEmbedded(ctx context.Context, name string) (*up, error) {
	cluster, err := embedded.Attach(name)
	if errors.As(err, new(*embedded.NotUpError)) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) { // it has no kubeconfig yet
		return nil, errStarting
	}
	if err != nil {
		return nil, err
	}
	supervisor := cluster.Supervisor()
	info, err := supervisor.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !info.Detached { // it is detached as soon as it may stay up
		return nil, errStarting
	}
	return &up{cluster.KubernetesRestConfig(), cluster.AuditLog(), func(ctx context.Context) { _ = supervisor.Closing(ctx) }}, nil
}

func findKind(ctx context.Context, name string) (*up, error) {
	cluster, err := kind.Attach(ctx, name)
	if errors.As(err, new(*kind.NotUpError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	closing := func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
			if _, err := kind.Attach(ctx, name); errors.As(err, new(*kind.NotUpError)) {
				return
			}
		}
	}
	return &up{cluster.KubernetesRestConfig(), absolute(cluster.AuditLog()), closing}, nil
}

func absolute(path string) string {
	if path, err := filepath.Abs(path); err == nil {
		return path
	}
	return path
}
