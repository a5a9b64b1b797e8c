package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// The names in a bundle. The label comes first, so that a bundle for another kind of machine is refused at once.
const (
	labelName  = "bundle.json"
	modulesDir = "modules/"
	clusterDir = "kubernetes/"
	siteDir    = "site/"
	imagesName = "images.tar"
)

// format is raised when an older unpack can't read what pack writes, or an older bundle is of no use.
const format = 4

// label describes the machines that a bundle is for.
type label struct {
	Format int `json:"format"`
	// Go is the version that go version prints, which the programs' keys depend on.
	Go string `json:"go"`
	// Platforms are those whose programs of the embedded cluster it contains.
	Platforms []string `json:"platforms"`
	// Images are for the architecture of Docker on the machine that packed them.
	Images     []string `json:"images,omitempty"`
	ImagesArch string   `json:"imagesArch,omitempty"`
}

// labelOf returns the label of a bundle that is packed with this machine's Go for platforms.
func labelOf(ctx context.Context, platforms ...string) (label, error) {
	version, err := output(ctx, nil, "go", "env", "GOVERSION")
	return label{Format: format, Go: version, Platforms: platforms}, err
}

// fits returns an error if a bundle is of no use on a machine of a platform with a version of Go.
func (l label) fits(platform, version string) error {
	switch {
	case l.Format != format:
		return fmt.Errorf("the bundle has format %d and this clone reads format %d: use the clone that it was packed with", l.Format, format)
	case !slices.Contains(l.Platforms, platform):
		return fmt.Errorf("the bundle is for %s and this machine is %s: pack one with PLATFORMS=%[2]s", strings.Join(l.Platforms, " "), platform)
	case l.Go != version:
		return fmt.Errorf("the bundle was packed with %s and this machine has %s: install the same, or Kubernetes would be compiled again, from sources that are not in the bundle", l.Go, version)
	}
	return nil
}

// others returns the platforms of a bundle except one.
func (l label) others(platform string) []string {
	return slices.DeleteFunc(slices.Clone(l.Platforms), func(other string) bool { return other == platform })
}

// isForOthers reports whether the bundle's images are of no use on this machine.
func (l label) isForOthers() bool { return l.ImagesArch != runtime.GOARCH }
