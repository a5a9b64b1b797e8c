// Package imagetest makes images for tests.
package imagetest

import (
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// FromScratch makes an image for Linux, as a Dockerfile with FROM scratch and COPY does.
func FromScratch(t testing.TB, architecture string, config v1.Config, files map[string][]byte) v1.Image {
	t.Helper()
	layer, err := crane.Layer(files)
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
