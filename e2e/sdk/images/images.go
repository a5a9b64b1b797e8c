// Package images makes the images of operators without a container engine. For those that are a Helm chart or an Ansible role, they contain
// a program that `make sdk` builds, and what the project's author has written.
package images

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/sdk"
)

// content is the files of an image, by their paths without the leading slash.
type content map[string][]byte

// add adds a file, or all files below a directory, as the path in the image.
func (c content) add(target, source string) error {
	return filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		c[path.Join(target, filepath.ToSlash(relative))], err = os.ReadFile(file)
		return err
	})
}

// Go returns the image of an operator that is one executable, as operator/Dockerfile makes it.
func Go(executable string) (v1.Image, error) {
	files := content{}
	if err := files.add("manager", executable); err != nil {
		return nil, err
	}
	return imagetest.New(runtime.GOARCH, v1.Config{Entrypoint: []string{"/manager"}, User: "65532:65532"}, files)
}

// Helm returns the image of a project with a chart. The program is linked statically, so the image has no other programs.
func Helm(tools sdk.Tools, project string) (v1.Image, error) {
	files := content{}
	err := errors.Join(
		files.add(sdk.HelmOperator, tools.Path(sdk.HelmOperator)),
		files.add("opt/helm/watches.yaml", filepath.Join(project, "watches.yaml")),
		files.add("opt/helm/helm-charts", filepath.Join(project, "helm-charts")),
	)
	if err != nil {
		return nil, err
	}
	return imagetest.New(runtime.GOARCH, v1.Config{Entrypoint: []string{"/" + sdk.HelmOperator}, WorkingDir: "/opt/helm", User: "65532:65532"}, files)
}

// Ansible returns the image of a project with a role. The layer below it is the root file system that [Debian] makes. The event plugin is
// in two parts: upstream's, which is beside the programs, and the project's.
func Ansible(tools sdk.Tools, project, system string) (v1.Image, error) {
	const plugin = "opt/event-plugin"
	files := content{}
	if err := errors.Join(
		files.add("usr/local/bin/"+sdk.AnsibleOperator, tools.Path(sdk.AnsibleOperator)),
		files.add("opt/ansible/watches.yaml", filepath.Join(project, "watches.yaml")),
		files.add("opt/ansible/roles", filepath.Join(project, "roles")),
		files.add(plugin, filepath.Join(project, sdk.EventPlugin)),
		files.add(plugin, tools.Path(sdk.EventPlugin)),
	); err != nil {
		return nil, err
	}
	// The user has a home directory in the root file system, which Ansible writes to.
	const user, home = "1001:0", "/home/ansible"
	above, err := imagetest.New(runtime.GOARCH, v1.Config{
		Entrypoint: []string{"/usr/bin/tini", "--", "/usr/local/bin/" + sdk.AnsibleOperator},
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8",
			"PYTHONPATH=/" + plugin, "PYTHONDONTWRITEBYTECODE=1", "ANSIBLE_GATHERING=explicit",
		},
		WorkingDir: "/opt/ansible", User: user,
	}, files)
	if err != nil {
		return nil, err
	}
	config, err := above.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := above.Layers()
	if err != nil {
		return nil, err
	}
	// Who stores the image compresses it.
	base, err := tarball.LayerFromFile(system, tarball.WithCompressionLevel(gzip.NoCompression))
	if err != nil {
		return nil, fmt.Errorf("read the root file system: %w", err)
	}
	config.RootFS.DiffIDs, config.History = nil, nil
	img, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, append([]v1.Layer{base}, layers...)...)
}

// Sizes returns how many bytes the layers of an image have, unpacked and as a registry stores them.
func Sizes(image v1.Image) (unpacked, compressed int64, err error) {
	layers, err := image.Layers()
	if err != nil {
		return 0, 0, err
	}
	var stored counter
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return 0, 0, err
		}
		compressor := gzip.NewWriter(&stored)
		n, err := io.Copy(compressor, content)
		if err := errors.Join(err, compressor.Close(), content.Close()); err != nil {
			return 0, 0, err
		}
		unpacked += n
	}
	return unpacked, int64(stored), nil
}

// counter is a writer that counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// NeedDebian returns the root file system of an Ansible operator's image, for a test in the repository at root. It skips the test where
// the program that makes such file systems is missing.
func NeedDebian(t testing.TB, root string) string {
	t.Helper()
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		t.Skip("there is no mmdebstrap, which makes a root file system from Debian packages: type apt-get install mmdebstrap")
	}
	system, err := Debian(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return system
}

// Debian returns the tar file of a root file system with Ansible from Debian's packages. It is made once, and kept in the cache.
func Debian(ctx context.Context, root string, progress io.Writer) (string, error) {
	tar, err := cluster.Line(ctx, progress, filepath.Join(root, "kind", "node"), "-image=ansible")
	if err != nil {
		return "", fmt.Errorf("make a root file system with Ansible: %w", err)
	}
	return tar, nil
}
