// Package operand makes the image of memcached, which the operator under test
// runs, from Debian's package: for machines that can't pull it.
package operand

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/example/operator-testbed/kind/build/lock"
	"github.com/example/operator-testbed/kind/build/progress"
	"github.com/example/operator-testbed/kind/node/internal/archive"
	"github.com/example/operator-testbed/kind/node/internal/docker"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// repository is the image's name, without a tag.
const repository = "operator-testbed/memcached"

const program = "/usr/bin/memcached"

// system is what memcached's package depends on, without Perl, which only scripts of
// packages run, and without conversions between character sets: 20 MB of 90.
var system = rootfs.Spec{
	Name:     "memcached",
	Variant:  "extract",
	Packages: []string{"memcached"},
	Setup:    []string{`rm -rf "$1"/usr/share "$1"/usr/include "$1"/usr/bin/perl* "$1"/usr/lib/*/perl* "$1"/usr/lib/*/libperl* "$1"/usr/lib/*/gconv`},
}

// Options say where things are, and how progress is shown.
type Options struct {
	// Cache is the testbed's cache directory.
	Cache string
	// Mirror is a Debian mirror, empty for Debian's own.
	Mirror string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress *os.File
}

// Ensure makes the image unless Docker has it, and returns its name. The tag changes
// with everything that the image is made from, except the versions of Debian's
// packages.
func Ensure(ctx context.Context, o Options) (string, error) {
	if err := docker.Check(ctx); err != nil {
		return "", err
	}
	image := archive.Image{
		Name: repository + ":" + system.Key(runtime.GOARCH),
		Env:  []string{"PATH=/usr/bin"}, Entrypoint: []string{program},
	}
	if docker.Has(ctx, image.Name) {
		return image.Name, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	display := progress.Start(o.Progress, progress.Terminal(o.Progress), cancel)
	defer display.Stop()
	dir := filepath.Join(o.Cache, "node", "memcached")
	work, release, err := lock.Acquire(ctx, dir, func(holder string) {
		display.Step(progress.State{Doing: "wait for " + holder + ", which is making the image"})
	})
	if err != nil {
		return "", fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another directory", o.Cache, err)
	}
	defer release()
	image.Base, err = system.Make(ctx, dir, runtime.GOARCH, o.Mirror, func(line string) {
		display.Step(progress.State{Doing: "memcached's Debian packages: " + line})
	})
	if err != nil {
		return "", err
	}
	images := filepath.Join(work, "memcached.tar")
	if err := archive.Write(images, runtime.GOARCH, []archive.Image{image}); err != nil {
		return "", err
	}
	return image.Name, docker.Load(ctx, images)
}
