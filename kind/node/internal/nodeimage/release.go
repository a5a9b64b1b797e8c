package nodeimage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
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
	if err := archive.AddBytes(w, "kubernetes/version", []byte(r.version), 0o644); err != nil {
		return "", err
	}
	for _, source := range slices.Concat(r.programs, r.archives) {
		if err := archive.AddFile(w, "kubernetes/server/bin/"+filepath.Base(source), source, 0o755); err != nil {
			return "", err
		}
	}
	return file, errors.Join(w.Close(), compressed.Close())
}
