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
	version, architecture string
	// programs are files on this machine.
	programs []string
	images   []archive.Image
}

// archiveNames are the image archives that kind looks for. The last one also holds
// every image that has no archive of its own: kind pulls what it finds in none.
var archiveNames = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}

// distribute returns the images of each archive.
func distribute(images []archive.Image) map[string][]archive.Image {
	in := map[string][]archive.Image{}
	for _, image := range images {
		name, _, _ := strings.Cut(path.Base(image.Name), ":")
		if !slices.Contains(archiveNames, name) {
			name = archiveNames[len(archiveNames)-1]
		}
		in[name] = append(in[name], image)
	}
	return in
}

// pack writes the release to a file in a directory. It is not compressed, although
// kind wants a .gz: it stays on this machine, and is unpacked a moment later.
func (r release) pack(directory string) (file string, err error) {
	files, in := slices.Clone(r.programs), distribute(r.images)
	for _, name := range archiveNames {
		images := filepath.Join(directory, name+".tar")
		if err := archive.Write(images, r.architecture, in[name]); err != nil {
			return "", err
		}
		files = append(files, images)
	}
	out, err := os.Create(filepath.Join(directory, "kubernetes-server.tar.gz"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	compressed, err := gzip.NewWriterLevel(out, gzip.NoCompression)
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(compressed)
	err = archive.AddBytes(w, "kubernetes/version", []byte(r.version), 0o644)
	for _, source := range files {
		err = errors.Join(err, archive.AddFile(w, "kubernetes/server/bin/"+filepath.Base(source), source, 0o755))
	}
	return out.Name(), errors.Join(err, w.Close(), compressed.Close())
}
