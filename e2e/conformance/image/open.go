package image

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is a container image for this machine's architecture.
type Image struct {
	source string
	image  v1.Image
}

// wanted is the platform of images that hold programs for this machine.
var wanted = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// Open opens an image: an archive as `docker save` writes it, which may be compressed; the directory of an OCI layout; or a
// reference, which is pulled from its registry with the credentials that Docker has for it. What an image is read from must
// outlive the Image.
func Open(ctx context.Context, source string) (Image, error) {
	img, err := open(ctx, source)
	return Image{source: source, image: img}, err
}

func open(ctx context.Context, source string) (v1.Image, error) {
	info, err := os.Stat(source)
	switch {
	case err == nil && info.IsDir():
		return fromLayout(source)
	case err == nil:
		img, err := tarball.Image(opener(source), nil)
		if err != nil {
			return nil, fmt.Errorf("%s is not an archive of one image, as `docker save` writes it: %w", source, err)
		}
		return img, nil
	case errors.Is(err, fs.ErrNotExist) && IsPath(source):
		return nil, fmt.Errorf("there is no file %s: name the operator's executable, or its image", source)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the image %s can't be read: %w", source, errors.Unwrap(err))
	}
	return pull(ctx, source)
}

// Archive writes the image to a file, as `docker save` does, under a name that depends on its content, which it returns.
func (i Image) Archive(file string) (reference string, err error) {
	config, err := i.image.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("read the image %s: %w", i.source, err)
	}
	if platform := config.Platform(); platform != nil && !platform.Satisfies(wanted) {
		return "", fmt.Errorf("the image %s is for %s, and the nodes of a kind cluster are %s here: build it for that platform", i.source, platform, wanted)
	}
	digest, err := i.image.Digest()
	if err != nil {
		return "", fmt.Errorf("read the image %s: %w", i.source, err)
	}
	tag, err := name.NewTag("testbed.example.com/operator:" + digest.Hex)
	if err == nil {
		err = tarball.WriteToFile(file, tag, i.image)
	}
	if err != nil {
		return "", fmt.Errorf("save the image %s: %w", i.source, err)
	}
	return tag.Name(), nil
}

// Arguments are those that the image runs its entrypoint with if nothing else is said.
func (i Image) Arguments() ([]string, error) {
	config, err := i.image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image %s: %w", i.source, err)
	}
	return config.Config.Cmd, nil
}

// IsPath reports whether a name can only be that of a file: a reference never begins like this.
func IsPath(source string) bool {
	return filepath.IsAbs(source) || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~") || strings.HasSuffix(source, ".tar")
}

// IsProgram reports whether a file is not an image but an executable, which can be run as it is. The permission alone is not
// enough: on some file systems every file has it.
func IsProgram(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return false
	}
	_, err = tarball.LoadManifest(opener(file))
	return err != nil
}

// opener opens an archive, and decompresses it if necessary.
func opener(archive string) tarball.Opener {
	return func() (io.ReadCloser, error) {
		file, err := os.Open(archive)
		if err != nil {
			return nil, err
		}
		content, err := gzip.NewReader(file)
		if err != nil { // it is not compressed
			_, err := file.Seek(0, io.SeekStart)
			return file, err
		}
		return struct {
			io.Reader
			io.Closer
		}{content, file}, nil
	}
}

// fromLayout returns the only image for this machine in the directory of an OCI layout.
func fromLayout(directory string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return nil, fmt.Errorf("%s is not the directory of an OCI layout: %w", directory, err)
	}
	images, err := imagesIn(index)
	if err != nil {
		return nil, fmt.Errorf("read the image %s: %w", directory, err)
	}
	if len(images) != 1 {
		return nil, fmt.Errorf("%s holds %d images for %s: want a layout of one image that is built for that platform", directory, len(images), wanted)
	}
	return images[0], nil
}

// imagesIn returns the images for this machine in an index and in those that it holds, as buildx writes them.
func imagesIn(index v1.ImageIndex) ([]v1.Image, error) {
	fits := func(d v1.Descriptor) bool { return d.Platform == nil || d.Platform.Satisfies(wanted) }
	images, err := partial.FindImages(index, fits)
	if err != nil {
		return nil, err
	}
	indexes, err := partial.FindIndexes(index, fits)
	for _, inner := range indexes {
		more, err := imagesIn(inner)
		if err != nil {
			return nil, err
		}
		images = append(images, more...)
	}
	return images, err
}

func pull(ctx context.Context, source string) (v1.Image, error) {
	reference, err := name.ParseReference(source)
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and no image can have that name: %w", source, err)
	}
	img, err := remote.Image(reference, remote.WithContext(ctx), remote.WithPlatform(wanted),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and the image of that name can't be pulled: %w; to use one that only Docker has, save it with `docker save -o operator.tar %s`", source, err, source)
	}
	return img, nil
}
