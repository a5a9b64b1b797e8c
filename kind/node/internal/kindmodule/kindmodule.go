// Package kindmodule reads what a node image needs from kind's own module: the
// files of its base image, and the names of the images that it expects in a node.
// kind's library exports neither, so both are read from its source, in the version
// that go.mod requires.
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

// Find returns kind's module, which the go command downloads if necessary.
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

// sources are the files of kind's module that name images: of the network, of the
// storage, and of every pod's sandbox.
var sources = []string{"pkg/build/nodeimage/const_cni.go", "pkg/build/nodeimage/const_storage.go", "images/base/files/" + containerdConfig}

const containerdConfig = "etc/containerd/config.toml"

var imageSetting = regexp.MustCompile(`(?m)^\s*(?:const\s+)?(?:\w+Image|sandbox_image)\s*=\s*"([^"]+)"`)

// Images returns the names of the images that kind expects in every node, besides
// those of Kubernetes.
func (m Module) Images() ([]string, error) {
	var images []string
	for _, name := range sources {
		source, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		found := imageSetting.FindAllStringSubmatch(string(source), -1)
		if len(found) == 0 {
			return nil, fmt.Errorf("kind %s names no image in %s: its source has changed, and kind/node must follow", m.Version, name)
		}
		for _, setting := range found {
			images = append(images, setting[1])
		}
	}
	return images, nil
}

// CopyFiles copies the files of kind's base image into a new directory, with their
// modes: kind's Dockerfile makes those in directories called bin executable, and
// the module cache does not keep that bit.
func (m Module) CopyFiles(to string) error {
	if err := os.CopyFS(to, os.DirFS(filepath.Join(m.Dir, "images", "base", "files"))); err != nil {
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
// CAP_SYS_RESOURCE, can start pods, too. On other machines, nothing changes.
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
