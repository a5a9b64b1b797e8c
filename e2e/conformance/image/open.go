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
		return openArchive(source, work)
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

// IsProgram says whether a file is no image but an executable of this machine, which needs not be taken out of anything.
func IsProgram(path string) bool {
	path, err := filepath.Abs(path) // or a name alone would be looked for on $PATH
	if err != nil {
		return false
	}
	if _, err := exec.LookPath(path); err != nil {
		return false
	}
	archive, err := unzipped(path)
	if err != nil {
		return false
	}
	defer archive.Close()
	_, err = tar.NewReader(archive).Next()
	return err != nil
}

// unzipped opens a file, and decompresses it if that is what it needs.
func unzipped(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
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

func openArchive(source, work string) (v1.Image, error) {
	there, err := names(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is no image: it can't be read as an archive, as `docker save` writes one: %w", source, withoutPath(err))
	case there[ociLayout]:
		folder, err := os.MkdirTemp(work, "layout-")
		if err != nil {
			return nil, err
		}
		if err := unpack(source, folder); err != nil {
			return nil, fmt.Errorf("unpacking the image %s: %w", source, err)
		}
		return openLayout(source, folder)
	case !there[dockerManifest]:
		return nil, fmt.Errorf("%s is no image: the archive has neither %s, which `docker save` writes, nor %s", source, dockerManifest, ociLayout)
	}
	opener := func() (io.ReadCloser, error) { return unzipped(source) }
	manifest, err := tarball.LoadManifest(opener)
	if err != nil {
		return nil, fmt.Errorf("%s is no image: reading its %s: %w", source, dockerManifest, err)
	}
	if len(manifest) != 1 {
		return nil, severalImages(source, len(manifest))
	}
	img, err := tarball.Image(opener, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, err)
	}
	return choose(source, []candidate{{image: img}})
}

// names returns what is in an archive.
func names(archive string) (map[string]bool, error) {
	there := map[string]bool{}
	err := each(archive, func(header *tar.Header, _ io.Reader) error {
		there[filepath.ToSlash(filepath.Clean(header.Name))] = true
		return nil
	})
	return there, err
}

// unpack writes an archive's folders and regular files, of which a layout consists, to a folder.
func unpack(archive, folder string) error {
	root, err := os.OpenRoot(folder) // nothing is written outside of it
	if err != nil {
		return err
	}
	defer root.Close()
	return each(archive, func(header *tar.Header, content io.Reader) error {
		switch name := filepath.Clean(header.Name); header.Typeflag {
		case tar.TypeDir:
			return root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			file, err := root.Create(name)
			if err != nil {
				return err
			}
			_, err = io.Copy(file, content)
			return errors.Join(err, file.Close())
		default:
			return nil
		}
	})
}

// each goes through an archive.
func each(archive string, do func(*tar.Header, io.Reader) error) error {
	file, err := unzipped(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	for entries := tar.NewReader(file); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(header, entries); err != nil {
			return err
		}
	}
}

func openLayout(source, folder string) (v1.Image, error) {
	if _, err := os.Stat(filepath.Join(folder, ociLayout)); err != nil {
		return nil, fmt.Errorf("%s is no image: the folder has no file %s", source, ociLayout)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, withoutPath(err))
	}
	return chooseOf(source, index)
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
	if descriptor.MediaType.IsIndex() {
		index, err := descriptor.ImageIndex()
		if err != nil {
			return nil, fmt.Errorf("reading the image %s: %w", source, err)
		}
		return chooseOf(source, index)
	}
	img, err := descriptor.Image()
	if err != nil {
		return nil, fmt.Errorf("reading the image %s: %w", source, err)
	}
	return choose(source, []candidate{{image: img}})
}
