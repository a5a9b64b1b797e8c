package nodeimage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/node/internal/archive"
)

// release is the part of a Kubernetes release that kind makes a node of.
type release struct {
	version string
	// dir is a folder for the image archives.
	dir string
	// programs are files on this machine.
	programs []string

	archives []string
}

// archiveNames are the image archives that kind looks for. The last one also holds
// every image that has no archive of its own: kind pulls what it finds in none.
var archiveNames = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}

// distribute says which images are in which archive.
func distribute(images []archive.Image) map[string][]archive.Image {
	last := archiveNames[len(archiveNames)-1]
	in := map[string][]archive.Image{}
	for _, image := range images {
		name, _, _ := strings.Cut(path.Base(image.Name), ":")
		if !slices.Contains(archiveNames, name) {
			name = last
		}
		in[name] = append(in[name], image)
	}
	return in
}

func (r *release) writeImages(images []archive.Image, architecture string) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	in := distribute(images)
	for _, name := range archiveNames {
		file := filepath.Join(r.dir, name+".tar")
		if err := archive.Write(file, architecture, in[name]); err != nil {
			return err
		}
		r.archives = append(r.archives, file)
	}
	return nil
}

// pack writes the release. It is not compressed, although kind wants a .gz: it
// stays on this machine, and is unpacked a moment later.
func (r *release) pack(file string) (_ string, err error) {
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	compressed, err := gzip.NewWriterLevel(out, gzip.NoCompression)
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(compressed)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: "kubernetes/version", Size: int64(len(r.version)), Mode: 0o644}
	if err := w.WriteHeader(header); err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, r.version); err != nil {
		return "", err
	}
	for _, source := range slices.Concat(r.programs, r.archives) {
		if err := add(w, "kubernetes/server/bin/"+filepath.Base(source), source); err != nil {
			return "", err
		}
	}
	return file, errors.Join(w.Close(), compressed.Close())
}

func add(w *tar.Writer, name, source string) error {
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o755}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
