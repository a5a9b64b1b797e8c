// Package archive writes container images, without running a build, as archives that
// `docker load` and `ctr images import` read.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is one image of an archive.
type Image struct {
	// Name is the full name, with registry and tag: example.com/team/name:v1.
	Name string
	// Base is a tar file with the lowest layer, or empty.
	Base string
	// Files are the layer on top, if there are any.
	Files      []File
	Env        []string
	Entrypoint []string
	StopSignal string
}

// File is a file of a layer: the copy of one on this machine, or its content.
type File struct {
	// Path is absolute, in the image.
	Path    string
	Source  string
	Content []byte
	Mode    int64
}

// Write makes an archive for linux on an architecture.
//
// The archive's first entry is the old "repositories", which newer tools ignore.
// kind reads an archive's names there; in a manifest.json, it reads only those of
// the first image.
func Write(file, architecture string, images []Image) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(fmt.Errorf("write the images of %s: %w", filepath.Base(file), err), os.Remove(file))
		}
	}()

	named := map[name.Reference]v1.Image{}
	repositories := map[string]map[string]string{} // kind reads names and tags, but no values
	for _, image := range images {
		tag, err := name.NewTag(image.Name)
		if err != nil {
			return err
		}
		if named[tag], err = image.assemble(architecture); err != nil {
			return err
		}
		repository := strings.TrimSuffix(image.Name, ":"+tag.TagStr())
		if repositories[repository] == nil {
			repositories[repository] = map[string]string{}
		}
		repositories[repository][tag.TagStr()] = ""
	}
	encoded, err := json.Marshal(repositories)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	if err := AddBytes(w, "repositories", encoded, 0o644); err != nil {
		return err
	}
	if err := w.Flush(); err != nil { // not Close: the archive goes on
		return err
	}
	return tarball.MultiRefWrite(named, out)
}

// assemble makes the image from its layers.
func (i Image) assemble(architecture string) (v1.Image, error) {
	var openers []tarball.Opener
	if i.Base != "" {
		openers = append(openers, func() (io.ReadCloser, error) { return os.Open(i.Base) })
	}
	if len(i.Files) > 0 {
		openers = append(openers, func() (io.ReadCloser, error) {
			r, w := io.Pipe()
			go func() { w.CloseWithError(writeFiles(tar.NewWriter(w), i.Files)) }()
			return r, nil
		})
	}
	var layers []v1.Layer
	for _, opener := range openers {
		// An archive stays on this machine, and is read a moment later.
		layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.NoCompression))
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: architecture,
		OS:           "linux",
		Config:       v1.Config{Env: i.Env, Entrypoint: i.Entrypoint, StopSignal: i.StopSignal},
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layers...)
}

// writeFiles writes a layer, which has the same bytes for the same files.
func writeFiles(w *tar.Writer, files []File) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	made := map[string]bool{}
	for _, file := range files {
		name := strings.TrimPrefix(file.Path, "/")
		for _, dir := range parents(name) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
				return err
			}
		}
		var err error
		if file.Source != "" {
			err = AddFile(w, name, file.Source, file.Mode)
		} else {
			err = AddBytes(w, name, file.Content, file.Mode)
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// parents returns the directories that a file is in, the outermost first.
func parents(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
