package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// entries are the names of a tar file's entries in their order, and the contents.
func entries(t *testing.T, data []byte) (names []string, contents map[string][]byte) {
	t.Helper()
	contents = map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		contents[header.Name] = content
	}
}

func write(t *testing.T, images []Image) []byte {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "images.tar")
	if err := Write(file, "arm64", images); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestArchiveNamesAllImagesFirst(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.tar")
	if err := os.WriteFile(base, []byte("never read"), 0o644); err != nil {
		t.Fatal(err)
	}
	images := []Image{
		{Name: "registry.k8s.io/kube-proxy:v1", Base: base, Files: []File{{Path: "/usr/local/bin/kube-proxy", Content: []byte("x"), Mode: 0o755}}, Entrypoint: []string{"kube-proxy"}},
		{Name: "docker.io/kindest/helper:v2", Base: base},
	}
	data := write(t, images)
	names, contents := entries(t, data)
	if names[0] != "repositories" {
		t.Errorf("the first entry is %s", names[0])
	}
	var repositories map[string]map[string]string
	if err := json.Unmarshal(contents["repositories"], &repositories); err != nil {
		t.Fatal(err)
	}
	_, proxy := repositories["registry.k8s.io/kube-proxy"]["v1"]
	_, helper := repositories["docker.io/kindest/helper"]["v2"]
	if !proxy || !helper {
		t.Errorf("got %v", repositories)
	}
	var manifests tarball.Manifest
	if err := json.Unmarshal(contents["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(manifests, func(a, b tarball.Descriptor) int { return len(b.Layers) - len(a.Layers) })
	if len(manifests) != 2 || len(manifests[0].Layers) != 2 || !slices.Equal(manifests[1].Layers, manifests[0].Layers[:1]) {
		t.Fatalf("the two do not share their lowest layer: %+v", manifests)
	}
	if got := slices.Concat(manifests[0].RepoTags, manifests[1].RepoTags); !slices.Equal(got, []string{images[0].Name, images[1].Name}) {
		t.Errorf("the names are %q", got)
	}
	var c v1.ConfigFile
	if err := json.Unmarshal(contents[manifests[0].Config], &c); err != nil {
		t.Fatal(err)
	}
	if c.Architecture != "arm64" || len(c.RootFS.DiffIDs) != 2 || !slices.Equal(c.Config.Entrypoint, []string{"kube-proxy"}) {
		t.Errorf("got %+v", c)
	}
	if base := uncompressed(t, contents[manifests[0].Layers[0]]); string(base) != "never read" {
		t.Errorf("the base is %q", base)
	}
	layer, _ := entries(t, uncompressed(t, contents[manifests[0].Layers[1]]))
	if want := []string{"usr/", "usr/local/", "usr/local/bin/", "usr/local/bin/kube-proxy"}; !slices.Equal(layer, want) {
		t.Errorf("the layer holds %q, expected %q", layer, want)
	}
	if !bytes.Equal(write(t, images[:1]), write(t, images[:1])) {
		t.Error("the same image has other bytes the second time")
	}
}

func uncompressed(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFailuresLeaveNothing(t *testing.T) {
	for name, image := range map[string]Image{
		"no name":      {Name: "localhost:5001/X"},
		"missing file": {Name: "x:v1", Files: []File{{Path: "/x", Source: "/no/such/file"}}},
	} {
		dir := t.TempDir()
		if err := Write(filepath.Join(dir, "images.tar"), "amd64", []Image{image}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left in the directory: %v, %v", name, left, err)
		}
	}
}
