// Package archive writes container images that nobody has to run a build for, as
// archives that `docker load` and `ctr images import` read.
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Image is one image of an archive.
type Image struct {
	// Name is in full, with registry and tag: example.com/team/name:v1.
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

// config is an image's configuration, as the OCI image specification has it.
type config struct {
	Architecture string      `json:"architecture"`
	OS           string      `json:"os"`
	Config       runConfig   `json:"config"`
	RootFS       rootFS      `json:"rootfs"`
	History      []fromLayer `json:"history"`
}

type runConfig struct {
	Env        []string `json:"Env,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	StopSignal string   `json:"StopSignal,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type fromLayer struct {
	CreatedBy string `json:"created_by"`
}

// manifest is an entry of an archive's manifest.json.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write makes an archive for linux on an architecture. It needs space for another
// copy of the layers in the archive's folder while it works.
//
// The archive's first entry is the old "repositories", which newer tools ignore:
// kind reads an archive's names there, while of a manifest.json it reads those of
// the first image only.
func Write(file, architecture string, images []Image) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(fmt.Errorf("writing the images of %s: %w", filepath.Base(file), err), os.Remove(file))
		}
	}()

	var written []string // layers of ours
	defer func() {
		for _, layer := range written {
			_ = os.Remove(layer)
		}
	}()
	layers := map[string]string{} // the file of each layer, by digest
	configs := map[string][]byte{}
	repositories := map[string]map[string]string{}
	var manifests []manifest
	for _, image := range images {
		repository, tag, err := split(image.Name)
		if err != nil {
			return err
		}
		c := config{
			Architecture: architecture,
			OS:           "linux",
			Config:       runConfig{Env: image.Env, Entrypoint: image.Entrypoint, StopSignal: image.StopSignal},
			RootFS:       rootFS{Type: "layers"},
		}
		m := manifest{RepoTags: []string{image.Name}}
		add := func(layer string) error {
			digest, err := digestOf(layer)
			if err != nil {
				return err
			}
			layers[digest] = layer
			c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, "sha256:"+digest)
			c.History = append(c.History, fromLayer{CreatedBy: "operator-testbed"})
			m.Layers = append(m.Layers, digest+"/layer.tar")
			return nil
		}
		if image.Base != "" {
			if err := add(image.Base); err != nil {
				return err
			}
		}
		if len(image.Files) > 0 {
			layer, err := writeLayer(filepath.Dir(file), image.Files)
			written = append(written, layer)
			if err != nil {
				return err
			}
			if err := add(layer); err != nil {
				return err
			}
		}
		encoded, err := json.Marshal(c)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(encoded)
		id := hex.EncodeToString(sum[:])
		m.Config = id + ".json"
		configs[m.Config] = encoded
		manifests = append(manifests, m)
		if repositories[repository] == nil {
			repositories[repository] = map[string]string{}
		}
		repositories[repository][tag] = id
	}

	w := tar.NewWriter(out)
	if err := writeJSON(w, "repositories", repositories); err != nil {
		return err
	}
	if err := writeJSON(w, "manifest.json", manifests); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if err := AddBytes(w, name, configs[name], 0o644); err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(layers)) {
		if err := AddFile(w, digest+"/layer.tar", layers[digest], 0o644); err != nil {
			return err
		}
	}
	return w.Close()
}

// split takes a full name apart.
func split(name string) (repository, tag string, err error) {
	i := strings.LastIndex(name, ":")
	if i < 0 || strings.Contains(name[i:], "/") {
		return "", "", fmt.Errorf("the image name %s has no tag", name)
	}
	return name[:i], name[i+1:], nil
}

// writeLayer writes a layer into a new file in a folder: the same bytes for the
// same files.
func writeLayer(dir string, files []File) (string, error) {
	f, err := os.CreateTemp(dir, "layer-*.tar")
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(f)
	err = writeFiles(w, files)
	return f.Name(), errors.Join(err, w.Close(), f.Close())
}

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
	return nil
}

// parents are the folders that a file is in, the outermost first.
func parents(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

func writeJSON(w *tar.Writer, name string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return AddBytes(w, name, data, 0o644)
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
