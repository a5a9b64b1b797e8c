package images_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/sdk/images"
)

// write makes files with a size, and returns their directory.
func write(t *testing.T, sizes map[string]int) string {
	t.Helper()
	directory := t.TempDir()
	for name, size := range sizes {
		file := filepath.Join(directory, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, make([]byte, size), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// files returns the paths of the files in a layer.
func files(t *testing.T, layer v1.Layer) (paths []string) {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return paths
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			paths = append(paths, header.Name)
		}
	}
}

// verify checks what is in the layers of an image, and what it runs.
func verify(t *testing.T, image v1.Image, entrypoint []string, want ...[]string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != len(want) {
		t.Fatalf("the image has %d layers, want %d", len(layers), len(want))
	}
	for i, layer := range layers {
		if got := files(t, layer); !slices.Equal(got, want[i]) {
			t.Errorf("layer %d has %q, want %q", i, got, want[i])
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(config.Config.Entrypoint, entrypoint) {
		t.Errorf("the entrypoint is %q, want %q", config.Config.Entrypoint, entrypoint)
	}
	if len(config.RootFS.DiffIDs) != len(layers) || config.OS != "linux" {
		t.Errorf("the image is for %s and has %d layers, want linux and %d", config.OS, len(config.RootFS.DiffIDs), len(layers))
	}
}

// A chart's image has nothing but what helm-operator reads, and none of the project's manifests.
func TestHelm(t *testing.T) {
	tools := sdk.Tools(write(t, map[string]int{"helm-operator": 1, "ansible-operator": 1}))
	project := write(t, map[string]int{"watches.yaml": 1, "helm-charts/a/Chart.yaml": 1, "config/crd/a.yaml": 1})
	image, err := images.Helm(tools, project)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, image, []string{"/helm-operator"}, []string{"helm-operator", "opt/helm/helm-charts/a/Chart.yaml", "opt/helm/watches.yaml"})
}

// A role's image has the root file system below the program, the role, and both parts of the event plugin.
func TestAnsible(t *testing.T) {
	tools := sdk.Tools(write(t, map[string]int{"ansible-operator": 1, "event-plugin/ansible_runner_http/__init__.py": 1}))
	project := write(t, map[string]int{"watches.yaml": 1, "roles/a/tasks/main.yml": 1, "event-plugin/debian_events.py": 1, "operator": 1})
	system := filepath.Join(t.TempDir(), "system.tar")
	file, err := os.Create(system)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(file)
	if err := errors.Join(w.AddFS(os.DirFS(write(t, map[string]int{"usr/bin/tini": 3000}))), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	image, err := images.Ansible(tools, project, system)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, image, []string{"/usr/bin/tini", "--", "/usr/local/bin/ansible-operator"}, []string{"usr/bin/tini"}, []string{
		"opt/ansible/roles/a/tasks/main.yml", "opt/ansible/watches.yaml",
		"opt/event-plugin/ansible_runner_http/__init__.py", "opt/event-plugin/debian_events.py", "usr/local/bin/ansible-operator",
	})
	if _, err := images.Ansible(tools, project, system+".missing"); err == nil {
		t.Error("expected an error without the root file system")
	}
}

// Zeros take less space in a registry than on a node.
func TestSizes(t *testing.T) {
	image, err := images.Go(filepath.Join(write(t, map[string]int{"manager": 1_000_000}), "manager"))
	if err != nil {
		t.Fatal(err)
	}
	verify(t, image, []string{"/manager"}, []string{"manager"})
	unpacked, compressed, err := images.Sizes(image)
	if err != nil {
		t.Fatal(err)
	}
	if unpacked < 1_000_000 || unpacked > 1_010_000 || compressed < 500 || compressed > 10_000 {
		t.Errorf("the image has %d bytes, and %d compressed", unpacked, compressed)
	}
}
