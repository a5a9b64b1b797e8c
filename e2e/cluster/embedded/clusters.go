package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

// Cluster is an embedded cluster that is up.
type Cluster struct {
	// Name is the name of the cluster.
	Name string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
	// Version is the version of Kubernetes that it runs.
	Version string
	// Detached is true for a cluster that stays up until it is destroyed, and false for one that stops with the program that
	// created it.
	Detached bool
}

// List returns the embedded clusters of this user that are up, sorted by name. It also cleans up what is left of clusters whose
// processes were killed. A cluster that is being created or destroyed meanwhile may be in the list or not.
func List(ctx context.Context) ([]Cluster, error) {
	dir, err := clustersDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var up []Cluster
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		var info supervisor.Info
		sup, err := supervisor.Attach(filepath.Join(dir, entry.Name()))
		if err == nil {
			info, err = sup.Info(ctx)
		}
		if errors.Is(err, supervisor.ErrNotRunning) || errors.Is(err, supervisor.ErrUnreachable) {
			continue
		}
		if err != nil {
			return nil, err
		}
		up = append(up, Cluster{
			Name:       entry.Name(),
			Kubeconfig: layout(sup.Dir()).kubeconfig(),
			Version:    layout(sup.Dir()).runs(),
			Detached:   info.Detached,
		})
	}
	return up, nil
}

// Attach returns a provider for a cluster that is up, usually a detached one that another program created. The error is a
// [*NotUpError] if none is up under the name; what is left of one whose processes were killed is cleaned up.
func Attach(name string) (*Provider, error) {
	p := NewProvider()
	p.name = name
	err := p.attach()
	return p, err
}

// attach makes the provider that of a cluster which is up.
func (p *Provider) attach() error {
	l, err := layoutOf(p.name)
	if err != nil {
		return err
	}
	sup, err := supervisor.Attach(string(l))
	if errors.Is(err, supervisor.ErrNotRunning) {
		return &NotUpError{Name: p.name}
	}
	if err != nil {
		return err
	}
	config, err := provider.RestConfig(l.kubeconfig())
	if err != nil {
		return err
	}
	p.layout, p.sup, p.config = l, sup, config
	return nil
}

// InUseError is the error of [Provider.Create] for a cluster that is [Attached] in another program, whose objects a reset would
// delete.
type InUseError struct {
	// Name is the name of the cluster.
	Name string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("another suite runs on the embedded cluster %s: wait for its end, or use another cluster", e.Name)
}

// attachAndReset does the work of Create for a cluster that is up.
func (p *Provider) attachAndReset(ctx context.Context) (string, error) {
	if err := p.attach(); err != nil {
		return "", err
	}
	if err := p.take(); err != nil {
		return "", err
	}
	if err := p.Reset(ctx); err != nil {
		return "", errors.Join(err, p.leave(ctx))
	}
	return p.GetKubeconfig(), nil
}

// take keeps others from attaching to the cluster, as long as this process
// lives, or until leave.
func (p *Provider) take() error {
	file, err := lock.Exclusive(p.layout.path("in-use"), os.O_CREATE)
	if errors.Is(err, lock.ErrHeld) {
		return &InUseError{Name: p.name}
	}
	p.inUse = file
	return err
}

// leave does the work of Destroy for a cluster that stays up: it ends what
// others run beside it. What they have left in it goes when it is used again.
func (p *Provider) leave(ctx context.Context) error {
	if p.inUse == nil {
		return nil
	}
	err := errors.Join(p.endOthers(ctx), p.inUse.Close())
	p.sup, p.config, p.inUse = nil, nil, nil
	if err != nil {
		return fmt.Errorf("leave the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// attachBorrowed does the work of Create for a cluster that is Borrowed.
func (p *Provider) attachBorrowed(ctx context.Context) (string, error) {
	name, giveBack, err := p.options.borrow(ctx, p.options.crds)
	if err != nil {
		return "", err
	}
	p.name, p.giveBack = name, giveBack
	if err := p.attach(); err != nil {
		return "", errors.Join(err, p.giveItBack())
	}
	return p.GetKubeconfig(), nil
}

// giveItBack does the work of Destroy for a cluster that is Borrowed.
func (p *Provider) giveItBack() error {
	if p.giveBack == nil {
		return nil
	}
	err := p.giveBack()
	p.sup, p.config, p.giveBack = nil, nil, nil
	if err != nil {
		return fmt.Errorf("give the embedded cluster %s back: %w", p.name, err)
	}
	return nil
}
