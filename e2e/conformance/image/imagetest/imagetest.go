// Package imagetest makes images for tests.
package imagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// FromScratch makes an image for Linux, as a Dockerfile with FROM scratch and COPY does. Its files are executable, which those of
// crane.Layer are not.
func FromScratch(t testing.TB, architecture string, config v1.Config, files map[string][]byte) v1.Image {
	t.Helper()
	img, err := New(architecture, config, files)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// New is [FromScratch] outside of a test.
func New(architecture string, config v1.Config, files map[string][]byte) (v1.Image, error) {
	archive, err := archived(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer)
}

// archived makes a tar archive of executable files, in the order of their names.
func archived(files map[string][]byte) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: content, Mode: 0o755}
	}
	err := errors.Join(w.AddFS(tree), w.Close())
	return archive.Bytes(), err
}
