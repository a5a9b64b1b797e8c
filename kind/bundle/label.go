package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// The names in a bundle. The label comes first, so that a bundle of another kind
// of machine is refused at once; the sums come last, so that one that was cut
// short has none.
const (
	labelName  = "bundle.json"
	sumsName   = "SHA256SUMS"
	modulesDir = "modules/"
	clusterDir = "kubernetes/"
	imagesName = "images.tar"
)

// format is raised when an older unpack can't read what pack writes.
const format = 1

// label says what machines a bundle is for.
type label struct {
	Format int `json:"format"`
	// Go is the version that go version prints, which the programs' keys depend on.
	Go     string   `json:"go"`
	OS     string   `json:"os"`
	Arch   string   `json:"arch"`
	Images []string `json:"images,omitempty"`
}

// thisMachine is the label of what is packed here.
func thisMachine() (label, error) {
	version, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return label{}, fmt.Errorf("ask Go for its version: %w", err)
	}
	return label{Format: format, Go: strings.TrimSpace(string(version)), OS: runtime.GOOS, Arch: runtime.GOARCH}, nil
}

// fits says why a bundle is of no use on a machine, if so.
func (l label) fits(machine label) error {
	switch {
	case l.Format != machine.Format:
		return fmt.Errorf("the bundle has format %d and this clone reads format %d: use the clone that it was packed with", l.Format, machine.Format)
	case l.OS != machine.OS || l.Arch != machine.Arch:
		return fmt.Errorf("the bundle is for %s/%s and this machine is %s/%s: pack one on a machine like this", l.OS, l.Arch, machine.OS, machine.Arch)
	case l.Go != machine.Go:
		return fmt.Errorf("the bundle was packed with %s and this machine has %s: install the same, or Kubernetes would be compiled again, from sources that are not in the bundle", l.Go, machine.Go)
	}
	return nil
}
