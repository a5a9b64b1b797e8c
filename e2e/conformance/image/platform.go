package image

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// wanted is the platform of images that hold programs for this machine.
var wanted = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// candidate is an image, and its platform where an index tells.
type candidate struct {
	image    v1.Image
	platform *v1.Platform
}

// imagesIn returns the images in an index and in those that it holds, as an archive of an image for several platforms does.
func imagesIn(index v1.ImageIndex) ([]candidate, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, descriptor := range manifest.Manifests {
		switch {
		case descriptor.MediaType.IsIndex():
			inner, err := index.ImageIndex(descriptor.Digest)
			if err != nil {
				return nil, err
			}
			candidates, err := imagesIn(inner)
			if err != nil {
				return nil, err
			}
			found = append(found, candidates...)
		case descriptor.MediaType.IsImage():
			if platform := descriptor.Platform; platform != nil && platform.OS == "unknown" {
				continue // how the images were built, which is told beside them
			}
			img, err := index.Image(descriptor.Digest)
			if err != nil {
				return nil, err
			}
			found = append(found, candidate{img, descriptor.Platform})
		}
	}
	return found, nil
}

// choose returns the only candidate that is for this machine, unless reading them has failed.
func choose(source string, candidates []candidate, err error) (v1.Image, error) {
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, err)
	}
	var fitting []v1.Image
	var others []string
	for _, c := range candidates {
		if c.platform == nil {
			config, err := c.image.ConfigFile()
			if err != nil {
				return nil, fmt.Errorf("reading the image %s: %w", source, err)
			}
			c.platform = config.Platform()
		}
		if c.platform.OS == wanted.OS && c.platform.Architecture == wanted.Architecture {
			fitting = append(fitting, c.image)
		} else {
			others = append(others, c.platform.String())
		}
	}
	switch {
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		return nil, severalImages(source, len(fitting))
	case len(others) == 0:
		return nil, fmt.Errorf("%s holds no image", source)
	}
	slices.Sort(others)
	return nil, fmt.Errorf("the image %s is for %s, and this machine runs %s: build it for that platform", source, strings.Join(slices.Compact(others), " and "), wanted)
}

func severalImages(source string, n int) error {
	return fmt.Errorf("%s holds %d images: save the operator's alone", source, n)
}
