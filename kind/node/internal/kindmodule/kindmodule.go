// Package kindmodule reads what a node image needs out of kind's own module: the
// files of its base image, and the names of the images that it expects in a node.
// Neither is part of kind's library, so both are read from its source, of the
// version that go.mod has.
package kindmodule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/example/operator-testbed/kind/build/program"
)

// Module is kind's module on this machine.
type Module struct {
	Dir, Version string
}

// Find asks the go command where kind's module is; it downloads it if need be.
func Find(ctx context.Context, ownModule string) (Module, error) {
	goCommand := program.Program{Path: "go", Dir: ownModule, Env: []string{"GOWORK=off", "GOFLAGS=-mod=readonly"}}
	output, err := goCommand.Output(ctx, "list", "-m", "-f={{.Dir}}\n{{.Version}}", "sigs.k8s.io/kind")
	if err != nil {
		return Module{}, fmt.Errorf("find kind's module: %w", err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if dir == "" || version == "" {
		return Module{}, errors.New("kind's module is not downloaded: run `go mod download` in kind/node")
	}
	return Module{Dir: dir, Version: version}, nil
}

var imageConstant = regexp.MustCompile(`(?m)^\s*(?:const\s+)?\w+Image\s*=\s*"([^"]+)"`)

// Images are the names of the images that kind puts into every node for its own
// manifests: network and storage.
func (m Module) Images() ([]string, error) {
	var images []string
	for _, name := range []string{"const_cni.go", "const_storage.go"} {
		file := filepath.Join(m.Dir, "pkg", "build", "nodeimage", name)
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found := imageConstant.FindAllStringSubmatch(string(source), -1)
		if len(found) == 0 {
			return nil, fmt.Errorf("kind %s names no image in %s: its source has changed, and kind/node must follow", m.Version, file)
		}
		for _, constant := range found {
			images = append(images, constant[1])
		}
	}
	return images, nil
}

const containerdConfig = "etc/containerd/config.toml"

var sandbox = regexp.MustCompile(`(?m)^\s*sandbox_image\s*=\s*"([^"]+)"`)

// SandboxImage is the image of every pod's sandbox.
func (m Module) SandboxImage() (string, error) {
	config, err := os.ReadFile(filepath.Join(m.files(), containerdConfig))
	if err != nil {
		return "", err
	}
	found := sandbox.FindSubmatch(config)
	if found == nil {
		return "", fmt.Errorf("kind %s sets no sandbox_image in %s: its source has changed, and kind/node must follow", m.Version, containerdConfig)
	}
	return string(found[1]), nil
}

func (m Module) files() string { return filepath.Join(m.Dir, "images", "base", "files") }

// CopyFiles copies the files of kind's base image into a new folder, with their
// modes: kind's Dockerfile makes those in folders called bin executable, and the
// module cache knows no such bit.
func (m Module) CopyFiles(to string) error {
	if err := os.CopyFS(to, os.DirFS(m.files())); err != nil {
		return err
	}
	if err := m.adapt(filepath.Join(to, containerdConfig)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() || filepath.Base(filepath.Dir(path)) == "bin" {
			mode = 0o755
		}
		return os.Chmod(path, mode) // whatever the umask is
	})
}

// adapt changes containerd's configuration in one point: a machine that may not
// lower the oom_score_adj of a process, such as a container without
// CAP_SYS_RESOURCE, starts pods all the same. Where it may, nothing changes.
func (m Module) adapt(file string) error {
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	adapted := bytes.Replace(config, []byte("restrict_oom_score_adj = false"), []byte("restrict_oom_score_adj = true"), 1)
	if bytes.Equal(adapted, config) {
		return fmt.Errorf("kind %s sets no restrict_oom_score_adj in %s: its source has changed, and kind/node must follow", m.Version, containerdConfig)
	}
	return os.WriteFile(file, adapted, 0o644)
}
