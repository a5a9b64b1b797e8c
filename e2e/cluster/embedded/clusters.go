package embedded

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/supervisor"
)

// Cluster is an embedded cluster that is up.
type Cluster struct {
	// Name is the name of the cluster.
	Name string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
	// Detached tells a cluster that stays up until it is destroyed from one
	// that ends with the program that created it.
	Detached bool
}

// List returns the embedded clusters of this user that are up, by name; one
// that starts or ends at this moment may be among them or not. What is left of
// clusters whose processes were killed is cleaned up on the way.
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
			Detached:   info.Detached,
		})
	}
	return up, nil
}

// Attach returns a provider for a cluster that is up, usually a detached one
// that another program created. The error is a *NotUpError when there is none.
// What is left of a cluster whose processes were killed is cleaned up.
func Attach(name string) (*Provider, error) {
	l, err := layoutOf(name)
	if err != nil {
		return nil, err
	}
	sup, err := supervisor.Attach(string(l))
	if errors.Is(err, supervisor.ErrNotRunning) {
		return nil, &NotUpError{Name: name}
	}
	if err != nil {
		return nil, err
	}
	p := NewProvider()
	p.name, p.layout, p.sup = name, l, sup
	if p.config, err = restConfig(l.kubeconfig()); err != nil {
		return nil, err
	}
	return p, nil
}
