package kind

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// network is what kind calls the network of its nodes, which all kind clusters of a machine share, unless its variable says
// otherwise. It makes it and never removes it.
func network() string { return cmp.Or(os.Getenv("KIND_EXPERIMENTAL_DOCKER_NETWORK"), "kind") }

// networkID returns the network's id, which is empty where there is none.
func networkID(ctx context.Context) (string, error) {
	return docker(ctx, "network", "ls", "--no-trunc", "--quiet", "--filter=name=^"+network()+"$")
}

// ownNetwork is the file that has the id of the network, if a cluster of this state folder brought it. No cluster is called so.
func (l layout) ownNetwork() string { return filepath.Join(filepath.Dir(string(l)), ".network") }

// claimNetwork is called before kind makes a cluster, and what it returns afterwards: if the network was not there before, it is
// the testbed's own. What an engine can't tell is not.
func (p *Provider) claimNetwork(ctx context.Context) (afterwards func() error) {
	if before, err := networkID(ctx); err != nil || before != "" {
		return func() error { return nil }
	}
	return func() error {
		made, err := networkID(context.WithoutCancel(ctx))
		if err != nil || made == "" {
			return err
		}
		return os.WriteFile(p.layout.ownNetwork(), []byte(made), 0o600)
	}
}

// removeNetwork removes the testbed's own network with the last container in it, running or not, whosever that was. With the last
// cluster of this state folder it is left to whoever else is in it.
func (p *Provider) removeNetwork(ctx context.Context) error {
	id, err := os.ReadFile(p.layout.ownNetwork())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	users, err := docker(ctx, "ps", "--all", "--quiet", "--filter=network="+string(id))
	if err != nil {
		return err
	}
	if users != "" {
		clusters, err := os.ReadDir(filepath.Dir(p.layout.ownNetwork()))
		if err != nil || slices.ContainsFunc(clusters, fs.DirEntry.IsDir) {
			return err
		}
	} else if _, err := docker(ctx, "network", "rm", string(id)); err != nil && !isGone(err) {
		return err
	}
	return os.Remove(p.layout.ownNetwork())
}

// isGone says that Docker knows no such thing any more.
func isGone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "not found") || strings.Contains(text, "no such")
}
