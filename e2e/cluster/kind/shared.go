package kind

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

// share keeps the registry, which all clusters of the testbed share, from being removed until release is called. Whoever makes a
// cluster calls it before the first container exists, which keeps the registry from then on.
func (l layout) share() (release func(), err error) {
	file, err := locked(l.shared(), lock.Shared)
	return func() { _ = file.Close() }, err
}

// removeShared removes the registry with the last cluster of the testbed. It leaves the registry to another cluster that is being
// made, and that removes it when it goes. The network is kind's, which never removes it.
func (p *Provider) removeShared(ctx context.Context) error {
	// One that is at it already may have looked before this cluster was gone. Wait for its end; the next one sees what we would.
	release, err := p.layout.share()
	if err != nil {
		return err
	}
	release()
	file, err := lock.Exclusive(p.layout.shared(), os.O_CREATE)
	if errors.Is(err, lock.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	left, err := p.library().List()
	if err == nil && !slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		err = stopRegistry(ctx)
	}
	return errors.Join(err, os.Remove(p.layout.shared()))
}
