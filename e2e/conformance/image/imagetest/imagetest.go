// Package imagetest makes images for tests.
package imagetest

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// FromScratch makes an image for Linux, as a Dockerfile with FROM scratch and COPY does. Its files are executable, which those of
// crane.Layer are not.
func FromScratch(t testing.TB, architecture string, config v1.Config, files map[string][]byte) v1.Image {
	t.Helper()
	archive := archived(t, files)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err == nil {
		img, err = mutate.AppendLayers(img, layer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// archived makes a tar archive of executable files, in the order of their names.
func archived(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}
