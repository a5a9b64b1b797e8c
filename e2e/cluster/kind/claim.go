package kind

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

// claim is the right to make, remove or end a cluster. It is a locked file in the cluster's directory. What the file says outlives
// its holder: a file that says something and is not locked means that the holder was killed, so the cluster is to be removed.
type claim struct{ file *os.File }

// What the file of a claim says. It says nothing while there is nothing to remove, and is not there when a cluster is complete.
const (
	unfinished = "unfinished" // containers are being made or removed
	temporary  = "temporary"  // the cluster is up for as long as the claim is held
)

// errClaimed says that another process holds the claim.
func errClaimed(name string) error {
	return fmt.Errorf("another process is making, using or removing the kind cluster %s: wait until it is done, or choose another name", name)
}

// claim claims the cluster.
func (p *Provider) claim() (*claim, error) {
	file, err := locked(p.layout.claim(), lock.Exclusive)
	if errors.Is(err, lock.ErrHeld) {
		err = errClaimed(p.name)
	}
	return &claim{file}, err
}

// locked locks a file that it makes, with its directory, where it is not there.
func locked(path string, take func(path string, flags int) (*os.File, error)) (*os.File, error) {
	for {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		file, err := take(path, os.O_CREATE)
		if !errors.Is(err, fs.ErrNotExist) { // else it was removed before it was locked
			return file, err
		}
	}
}

// say writes down what the cluster is now.
func (c *claim) say(what string) error { return os.WriteFile(c.file.Name(), []byte(what), 0o600) }

// release ends the claim and leaves what it says, for others to clean up.
func (c *claim) release() { _ = c.file.Close() }

// complete ends the claim of a cluster that outlives it.
func (c *claim) complete() error {
	defer c.release()
	return os.Remove(c.file.Name())
}

// claimed is what the file of the claim says.
func (l layout) claimed() (string, error) {
	said, err := os.ReadFile(l.claim())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(said), err
}

// sweep removes what there is of the clusters of this state directory whose holders were killed.
func (p *Provider) sweep(ctx context.Context) error {
	directories, err := os.ReadDir(p.layout.neighbors())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed []error
	for _, directory := range directories {
		left := NewProvider()
		left.name, left.progress = directory.Name(), p.progress
		if left.layout, err = layoutOf(left.name); err != nil {
			continue // not a cluster's
		}
		failed = append(failed, left.sweepOne(ctx))
	}
	return errors.Join(failed...)
}

func (p *Provider) sweepOne(ctx context.Context) error {
	if said, err := p.layout.claimed(); err != nil || said == "" {
		return err
	}
	file, err := lock.Exclusive(p.layout.claim(), 0)
	if errors.Is(err, lock.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintf(p.progress, "remove what is left of the kind cluster %s, whose process was killed\n", p.name)
	if _, err := p.isThere(ctx); errors.Is(err, errForeign) { // nothing is left but the directory
		return os.RemoveAll(string(p.layout))
	} else if err != nil {
		return err
	}
	return p.remove()
}
