package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// indexOf returns an index of the images in archives, by architecture.
func indexOf(archives map[string]string) (v1.ImageIndex, error) {
	var index v1.ImageIndex = empty.Index
	for _, architecture := range slices.Sorted(maps.Keys(archives)) {
		img, err := imageOf(archives[architecture], architecture)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	return index, nil
}

// imageOf returns the image in an archive, which must be for the architecture.
func imageOf(archive, architecture string) (v1.Image, error) {
	built, err := tarball.ImageFromPath(archive, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not an archive of docker save: %w", archive, err)
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("%s is not an archive of docker save: %w", archive, err)
	}
	if config.OS != "linux" || config.Architecture != architecture {
		return nil, fmt.Errorf("the engine has built the image for linux/%s as one for %s/%s: use an engine that supports --platform", architecture, config.OS, config.Architecture)
	}
	return reproducible(built, config)
}

// reproducible returns an image without the records of when, where and with what it was built, so that the same files produce the same
// digest.
func reproducible(built v1.Image, config *v1.ConfigFile) (v1.Image, error) {
	// The engine sets Image to the image of the previous build step, which differs between builds.
	settings := config.Config
	settings.Image, settings.Hostname, settings.Domainname = "", "", ""
	img, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: config.OS, Architecture: config.Architecture, Config: settings, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	layers, err := built.Layers()
	if err != nil {
		return nil, err
	}
	for _, layer := range layers {
		// An archive's layers may be compressed or not, so they are compressed again in one way.
		again, err := tarball.LayerFromOpener(layer.Uncompressed, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: again}); err != nil {
			return nil, err
		}
	}
	return img, nil
}
