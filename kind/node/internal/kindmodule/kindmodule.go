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
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// Images are the names of the images that kind puts into every node for its own
// manifests: network and storage.
func (m Module) Images() ([]string, error) {
	var images []string
	for _, name := range []string{"const_cni.go", "const_storage.go"} {
		file := filepath.Join(m.Dir, "pkg", "build", "nodeimage", name)
		found, err := imageConstants(file)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("kind %s names no image in %s: its source has changed, and kind/node must follow", m.Version, file)
		}
		images = append(images, found...)
	}
	return images, nil
}

// imageConstants are the values of a file's string constants that are called
// ...Image.
func imageConstants(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var images []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasSuffix(spec.Names[0].Name, "Image") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				images = append(images, value)
			}
		}
		return true
	})
	slices.Sort(images)
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

// executable are the folders whose files kind's Dockerfile makes executable: the
// module cache knows no such bit.
var executable = []string{"usr/local/bin", "kind/bin"}

// CopyFiles copies the files of kind's base image into a folder, with their modes.
func (m Module) CopyFiles(to string) error {
	return filepath.WalkDir(m.files(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.files(), path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.ToSlash(name) == containerdConfig {
			if data, err = m.adapt(data); err != nil {
				return err
			}
		}
		mode := fs.FileMode(0o644)
		if slices.Contains(executable, filepath.ToSlash(filepath.Dir(name))) {
			mode = 0o755
		}
		if err := os.WriteFile(target, data, mode); err != nil {
			return err
		}
		return os.Chmod(target, mode) // whatever the umask is
	})
}

// adapt changes containerd's configuration in one point: a machine that may not
// lower the oom_score_adj of a process, such as a container without
// CAP_SYS_RESOURCE, starts pods all the same. Where it may, nothing changes.
func (m Module) adapt(config []byte) ([]byte, error) {
	adapted := bytes.Replace(config, []byte("restrict_oom_score_adj = false"), []byte("restrict_oom_score_adj = true"), 1)
	if bytes.Equal(adapted, config) {
		return nil, fmt.Errorf("kind %s sets no restrict_oom_score_adj in %s: its source has changed, and kind/node must follow", m.Version, containerdConfig)
	}
	return adapted, nil
}
