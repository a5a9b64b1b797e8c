// Package operand makes the image of memcached, which the operator under test
// runs, from Debian's package: for machines that can't pull it.
package operand

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/example/operator-testbed/kind/build/progress"
	"github.com/example/operator-testbed/kind/node/internal/archive"
	"github.com/example/operator-testbed/kind/node/internal/docker"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// repository is the image's name, without a tag.
const repository = "operator-testbed/memcached"

const program = "/usr/bin/memcached"

var packages = rootfs.Spec{Name: "memcached", Variant: "extract", Packages: []string{"memcached"}}

// Options say where things are, and how progress is shown.
type Options struct {
	// Cache is the testbed's cache folder.
	Cache string
	// Mirror is a Debian mirror, empty for Debian's own.
	Mirror string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress *os.File
}

// Ensure makes the image unless Docker has it, and returns its name. The tag is a
// digest of its files.
func Ensure(ctx context.Context, o Options) (string, error) {
	if err := docker.Check(ctx); err != nil {
		return "", err
	}
	dir := filepath.Join(o.Cache, "node")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another folder", o.Cache, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var display *progress.Display
	file, err := packages.Make(ctx, dir, runtime.GOARCH, o.Mirror, func(line string) {
		if display == nil {
			display = progress.Start(o.Progress, progress.Terminal(o.Progress), cancel)
		}
		display.Step(progress.State{Doing: "memcached's Debian packages: " + line})
	})
	if display != nil {
		display.Stop()
	}
	if err != nil {
		return "", err
	}
	s, err := read(file)
	if err != nil {
		return "", err
	}
	files, err := s.closure(program)
	if err != nil {
		return "", err
	}
	image := archive.Image{Name: repository + ":" + tag(files), Files: files, Env: []string{"PATH=/usr/bin"}, Entrypoint: []string{program}}
	if docker.Has(ctx, image.Name) {
		return image.Name, nil
	}
	work, err := os.MkdirTemp(dir, "memcached-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	images := filepath.Join(work, "memcached.tar")
	if err := archive.Write(images, runtime.GOARCH, []archive.Image{image}); err != nil {
		return "", err
	}
	return image.Name, docker.Load(ctx, images)
}

// tag changes with the architecture and every file.
func tag(files []archive.File) string {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOARCH)
	for _, file := range files {
		fmt.Fprintf(h, "%s %x\n", file.Path, sha256.Sum256(file.Content))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
