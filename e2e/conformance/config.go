package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/conformance/image"
)

// ConfigFile is the name of the file that authors keep beside their operator.
const ConfigFile = "conformance.yaml"

// Clusters are the kinds of clusters on which an operator can be checked, the default first. See package cluster.
var Clusters = []string{"embedded", "kind"}

// Config is the content of an author's file about an operator: how to run it, what to create, and which points are known not to hold. For a
// Memcached operator, it has the fields of a [Mapping] instead of samples, so a mapping is a Config, too.
type Config struct {
	Mapping
	// Executable or Image is the operator. An image is anything that image.Open takes.
	Executable string `json:"executable,omitempty"`
	Image      string `json:"image,omitempty"`
	// Cluster is "embedded" or "kind", where an image runs in a pod. Empty means embedded.
	Cluster string `json:"cluster,omitempty"`
	// Load are archives of other images, which are loaded onto the nodes of a kind cluster.
	Load []string `json:"load,omitempty"`
	// Manifests and CRDs are those of [Foreign].
	Manifests string   `json:"manifests,omitempty"`
	CRDs      []string `json:"crds,omitempty"`
	// Directory is the operator's working directory, whose files it may read. By default, it is an empty directory.
	Directory string `json:"directory,omitempty"`
	// From is the previous version of the operator.
	From Version `json:"from,omitzero"`
	// Samples are custom resources that the operator serves.
	Samples []SampleFile `json:"samples,omitempty"`
	// Known are the points that are known not to hold.
	Known []Known `json:"known,omitempty"`
}

// Version is another version of the operator.
type Version struct {
	// Executable or Image is the operator, as in a [Config].
	Executable string `json:"executable,omitempty"`
	Image      string `json:"image,omitempty"`
	// Manifests install it, if they differ.
	Manifests string `json:"manifests,omitempty"`
}

// OperatorFile returns the executable or image.
func (v Version) OperatorFile() string { return cmp.Or(v.Executable, v.Image) }

// SampleFile is the file of a custom resource.
type SampleFile struct {
	File string `json:"file"`
	// Companions are files of objects that the custom resource refers to. They are created first.
	Companions []string `json:"companions,omitempty"`
	// Name is File as it was written in the configuration.
	Name string `json:"-"`
}

// ReadConfig reads a Config. Paths in the file are relative to its directory; the returned paths are absolute.
func ReadConfig(path string) (Config, error) {
	config, err := decodeConfig(path)
	if err == nil {
		err = config.resolve(filepath.Dir(path))
	}
	if err == nil {
		err = config.check()
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	return config, nil
}

// decodeConfig reads a Config as it is written. A key that it does not know is an error.
func decodeConfig(path string) (Config, error) {
	var config Config
	content, err := os.ReadFile(path)
	if err != nil {
		return config, errors.Unwrap(err) // the caller names the file
	}
	if err := checkKeys(content, config); err != nil {
		return config, err
	}
	err = yaml.UnmarshalStrict(content, &config)
	return config, err
}

// HasMapping reports whether the file has fields of a mapping.
func (c Config) HasMapping() bool {
	return c.Group != "" || c.Version != "" || c.Kind != "" || c.Resource != "" || c.Deployment != "" || c.Fields != Fields{} || c.Conditions != Conditions{}
}

// OperatorFile returns the executable or image.
func (c Config) OperatorFile() string { return cmp.Or(c.Executable, c.Image) }

// resolve makes the paths absolute.
func (c *Config) resolve(directory string) error {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	paths := []*string{&c.Executable, &c.Manifests, &c.Directory, &c.From.Executable, &c.From.Manifests}
	for _, files := range [][]string{c.CRDs, c.Load} {
		for i := range files {
			paths = append(paths, &files[i])
		}
	}
	for i := range c.Samples {
		c.Samples[i].Name = c.Samples[i].File
		paths = append(paths, &c.Samples[i].File)
		for j := range c.Samples[i].Companions {
			paths = append(paths, &c.Samples[i].Companions[j])
		}
	}
	for _, reference := range []*string{&c.Image, &c.From.Image} {
		if _, err := os.Stat(filepath.Join(directory, *reference)); err == nil || image.IsPath(*reference) {
			paths = append(paths, reference)
		}
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(directory, *path)
		}
	}
	return nil
}

// check finds what contradicts itself, and files that are missing.
func (c Config) check() error {
	if c.Executable != "" && c.Image != "" {
		return errors.New("it has both executable and image: keep the one to check")
	}
	if c.Cluster != "" && !slices.Contains(Clusters, c.Cluster) {
		return fmt.Errorf("cluster is %q: use one of %s", c.Cluster, strings.Join(Clusters, ", "))
	}
	if c.From.Executable != "" && c.From.Image != "" {
		return errors.New("from has both executable and image: keep the version before")
	}
	if c.From.Manifests != "" && c.From.OperatorFile() == "" {
		return errors.New("from has manifests, but no operator: add executable or image")
	}
	if c.HasMapping() {
		if len(c.Samples) > 0 {
			return errors.New("it has both samples and the fields of a mapping, which is for a Memcached operator: keep one of the two")
		}
		if c.From != (Version{}) {
			return errors.New("it has both from and the fields of a mapping: the point about an upgrade needs samples")
		}
		if err := c.Mapping.check(); err != nil {
			return err
		}
	}
	files := append([]string{c.Executable, c.Manifests, c.Directory, c.From.Executable, c.From.Manifests}, slices.Concat(c.CRDs, c.Load)...)
	for _, sample := range c.Samples {
		if sample.File == "" {
			return errors.New("one of the samples has no file: add the file of a custom resource")
		}
		files = append(append(files, sample.File), sample.Companions...)
	}
	for _, file := range files {
		if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no %s%s", file, map[bool]string{true: ": build the operator first, or correct the path"}[file == c.Executable])
		}
	}
	for i, known := range c.Known {
		switch {
		case known.Point == "":
			return fmt.Errorf("entry %d of known has no point: add the claim, as the report prints it", i+1)
		case strings.TrimSpace(known.Reason) == "":
			return fmt.Errorf("the known point %q has no reason: say why it does not hold", known.Point)
		case known.Sample != "" && !slices.ContainsFunc(c.Samples, func(s SampleFile) bool { return s.Name == known.Sample }):
			return fmt.Errorf("the known point %q is about %s, which is not one of the samples: write it as there", known.Point, known.Sample)
		case slices.ContainsFunc(c.Known[:i], func(k Known) bool { return k.Point == known.Point && k.Sample == known.Sample }):
			return fmt.Errorf("the known point %q is listed twice", known.Point)
		}
	}
	return nil
}
