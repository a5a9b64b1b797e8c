package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is a container image for this machine's architecture.
type Image struct {
	source string
	image  v1.Image
}

// Open opens an image: an archive, such as `docker save` writes or such as holds an OCI layout, also compressed; the folder of an
// OCI layout; or a reference, which is pulled from its registry with the credentials that Docker has for that. What it unpacks
// goes to a folder in work, which must outlive the image.
func Open(ctx context.Context, source, work string) (Image, error) {
	img, err := open(ctx, source, work)
	if err != nil {
		return Image{}, err
	}
	return Image{source: source, image: img}, nil
}

func open(ctx context.Context, source, work string) (v1.Image, error) {
	info, err := os.Stat(source)
	switch {
	case err == nil && info.IsDir():
		return openLayout(source, source)
	case err == nil:
		return openArchive(ctx, source, work)
	case !errors.Is(err, fs.ErrNotExist) || isPath(source):
		return nil, fmt.Errorf("the image %s can't be read: %w", source, withoutPath(err))
	}
	return pull(ctx, source)
}

// isPath says whether a name can only be that of a file: a reference never begins so.
func isPath(source string) bool {
	return filepath.IsAbs(source) || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~") || strings.HasSuffix(source, ".tar")
}

// withoutPath is the reason alone, for a sentence that names the file itself.
func withoutPath(err error) error {
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return wrong.Err
	}
	return err
}

// IsProgram reports whether a file is not an image but an executable of this machine, which needs no taking out of an image.
func IsProgram(file string) bool {
	file, err := filepath.Abs(file) // or a name alone would be looked for on $PATH
	if err != nil {
		return false
	}
	if _, err := exec.LookPath(file); err != nil {
		return false
	}
	archive, err := unzipped(file)
	if err != nil {
		return false
	}
	defer archive.Close()
	_, err = tar.NewReader(archive).Next()
	return err != nil
}

// unzipped opens a file, and decompresses it if that is what it needs.
func unzipped(archive string) (io.ReadCloser, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	content, err := gzip.NewReader(file)
	if err != nil { // it is not compressed
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{content, file}, nil
}

// The files by which one knows the two kinds of archive. Some have both.
const (
	dockerManifest = "manifest.json"
	ociLayout      = "oci-layout"
)

func openArchive(ctx context.Context, source, work string) (v1.Image, error) {
	folder, err := os.MkdirTemp(work, "layout-")
	if err != nil {
		return nil, err
	}
	if err := unpack(ctx, source, folder); err != nil {
		return nil, fmt.Errorf("%s is not an image: it can't be read as an archive, as `docker save` writes one: %w", source, withoutPath(err))
	}
	if _, err := os.Stat(filepath.Join(folder, ociLayout)); err == nil {
		return openLayout(source, folder)
	}
	opener := func() (io.ReadCloser, error) { return unzipped(source) }
	manifest, err := tarball.LoadManifest(opener)
	if err != nil {
		return nil, fmt.Errorf("%s is not an image: the archive has no %s, and no %s as `docker save` writes it: %w", source, ociLayout, dockerManifest, err)
	}
	if len(manifest) != 1 {
		return nil, severalImages(source, len(manifest))
	}
	img, err := tarball.Image(opener, nil)
	return choose(source, []candidate{{image: img}}, err)
}

// unpack writes an archive's regular files, of which a layout consists, to a folder.
func unpack(ctx context.Context, archive, folder string) error {
	root, err := os.OpenRoot(folder) // nothing is written outside of it
	if err != nil {
		return err
	}
	defer root.Close()
	content, err := unzipped(archive)
	if err != nil {
		return err
	}
	return walk(ctx, content, func(name string, header *tar.Header, content io.Reader) error {
		if header.Typeflag != tar.TypeReg {
			return nil
		}
		name = strings.TrimPrefix(name, "/")
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := root.Create(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	})
}

// walk calls do with each file of an archive, under its absolute path, until it returns fs.SkipAll. It closes the archive.
func walk(ctx context.Context, archive io.ReadCloser, do func(name string, header *tar.Header, content io.Reader) error) error {
	defer archive.Close()
	for entries := tar.NewReader(archive); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		header, err := entries.Next()
		if err == nil {
			err = do(path.Join("/", header.Name), header, entries)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.SkipAll) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func openLayout(source, folder string) (v1.Image, error) {
	if _, err := os.Stat(filepath.Join(folder, ociLayout)); err != nil {
		return nil, fmt.Errorf("%s is not an image: the folder has no file %s", source, ociLayout)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, withoutPath(err))
	}
	candidates, err := imagesIn(index)
	return choose(source, candidates, err)
}

// pullPatience is how long a registry may take to answer at all.
const pullPatience = 10 * time.Second

func pull(ctx context.Context, source string) (v1.Image, error) {
	reference, err := name.ParseReference(source)
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and no image can have that name: %w", source, err)
	}
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: pullPatience}).DialContext
	transport.ResponseHeaderTimeout = pullPatience
	descriptor, err := remote.Get(reference, remote.WithContext(ctx), remote.WithTransport(transport),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and the image of that name can't be pulled: %w; one that only Docker has becomes an archive by `docker save -o operator.tar %s`", source, err, source)
	}
	if !descriptor.MediaType.IsIndex() {
		img, err := descriptor.Image()
		return choose(source, []candidate{{image: img}}, err)
	}
	index, err := descriptor.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, err)
	}
	candidates, err := imagesIn(index)
	return choose(source, candidates, err)
}
