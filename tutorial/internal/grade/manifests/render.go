// Package manifests decides whether the manifests of a submission may be applied. They are applied as administrator, so they are as
// dangerous as its program: they may fetch what they like while they are rendered, and grant what they like afterwards.
//
// [Render] reads them and renders them of local files only, in the way in which suites load them. [Judge] compares what came out with
// what a chapter's own manifests have, and the first difference that gives the operator more than it needs is a [RefusedError], which
// names the object.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// RefusedError says which manifest may not be applied, and why, in one sentence for its author.
type RefusedError string

func (r RefusedError) Error() string { return string(r) }

func refuse(format string, args ...any) error { return RefusedError(fmt.Sprintf(format, args...)) }

// Object is an object of the manifests.
type Object = unstructured.Unstructured

// Rendered are the manifests in a directory config.
type Rendered struct {
	// Loaded are the objects of each path in config that a suite may apply, loaded as [manifest.Load] does it.
	Loaded map[string][]*Object `json:"loaded"`
	// Files are the documents of each YAML file that is not a kustomization, by its path in config, as far as they can be read.
	Files map[string][]*Object `json:"files"`
}

const (
	// mostFiles and mostBytes are how many files a directory config may have, and how long they may be in all: fifty times what the
	// finished operator has.
	mostFiles, mostBytes = 2000, 8 << 20
	// inMemory is the directory config while it is rendered.
	inMemory = "/config"
)

// definitions is the directory of config that a cluster installs CustomResourceDefinitions from when it starts.
const definitions = "crd/bases"

// loaded are the paths in config whose objects a suite may apply. TestLoaded compares them with what suites name.
var loaded = []string{
	"default", "default-cert-manager", "local", "crd", definitions, "namespaced", "tenants", "policy", "policy/policies.yaml", "network-policy", "prometheus", "samples",
}

// kustomizationNames are what kustomize looks for in a directory.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Render reads the manifests in a directory config, and loads those that suites use. It renders in memory, so that there is nothing but
// the files of config, and refuses first whatever kustomize would look for elsewhere.
func Render(config string) (Rendered, error) {
	files, err := read(config)
	if err != nil {
		return Rendered{}, err
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if slices.Contains(kustomizationNames, path.Base(file)) {
			if err := checkKustomization(files, file); err != nil {
				return Rendered{}, err
			}
		}
	}
	memory := filesys.MakeFsInMemory()
	for file, content := range files {
		if err := memory.WriteFile(path.Join(inMemory, file), content); err != nil {
			return Rendered{}, err
		}
	}
	r := Rendered{Loaded: map[string][]*Object{}, Files: map[string][]*Object{}}
	for _, name := range loaded {
		if !present(files, name) {
			continue
		}
		if r.Loaded[name], err = load(memory, files, name); err != nil {
			return Rendered{}, err
		}
	}
	for file, content := range files {
		if !slices.Contains(kustomizationNames, path.Base(file)) && slices.Contains([]string{".yaml", ".yml"}, path.Ext(file)) {
			r.Files[file] = documents(content)
		}
	}
	return r, nil
}

// read returns the regular files below a directory, by their paths in it, with slashes.
func read(config string) (map[string][]byte, error) {
	files, size := map[string][]byte{}, 0
	err := filepath.WalkDir(config, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == config: // an operator without manifests
			return nil
		case err != nil:
			return err
		}
		within, err := filepath.Rel(config, name)
		switch {
		case err != nil || entry.IsDir():
			return err
		case !entry.Type().IsRegular():
			return refuse("config/%s is not a regular file: replace it by one", filepath.ToSlash(within))
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		size += len(content)
		if files[filepath.ToSlash(within)] = content; len(files) > mostFiles || size > mostBytes {
			return refuse("config has more than %d files or %d MiB: leave out what does not install the operator", mostFiles, mostBytes>>20)
		}
		return nil
	})
	return files, err
}

// fields are the fields that a kustomization may have. The others run programs, read other places, or are the deprecated forms of
// these. The JSON decoder ignores the case of names, which this does not.
var fields = []string{
	"apiVersion", "kind", "metadata", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels", "commonAnnotations", "resources",
	"components", "patches", "replacements", "images", "replicas", "configMapGenerator", "generatorOptions", "sortOptions",
	"configurations",
}

// local is a path that kustomize takes for a file or a directory, and never for a URL or for a repository on a host.
var local = regexp.MustCompile(`^(\./|\.\./)*([A-Za-z0-9_-]+/)*([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.(yaml|yml|json|env|properties)|[A-Za-z0-9_-]+/?|\.\.)$`)

// checkKustomization refuses a kustomization that needs anything besides files of config.
func checkKustomization(files map[string][]byte, file string) error {
	var given map[string]any
	if err := yaml.Unmarshal(files[file], &given); err != nil {
		return refuse("config/%s is not a kustomization: %v", file, err)
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(fields, field) {
			return refuse("config/%s uses %s, which is not allowed where it is graded: use one of %s",
				file, field, strings.Join(fields[3:], ", "))
		}
	}
	var k types.Kustomization
	if err := k.Unmarshal(files[file]); err != nil {
		return refuse("config/%s is not a kustomization: %v", file, err)
	}
	paths := slices.Concat(k.Resources, k.Components, k.Configurations)
	for _, patch := range k.Patches {
		paths = append(paths, patch.Path)
	}
	for _, replacement := range k.Replacements {
		paths = append(paths, replacement.Path)
	}
	for i := range k.ConfigMapGenerator {
		generator := &k.ConfigMapGenerator[i]
		for _, source := range slices.Concat(generator.FileSources, generator.EnvSources, []string{generator.EnvSource}) {
			paths = append(paths, source[strings.Index(source, "=")+1:])
		}
	}
	for _, named := range paths {
		if named != "" && (!local.MatchString(named) || !present(files, path.Join(path.Dir(file), named))) {
			return refuse("config/%s names %q, which is not a file or directory of config: copy what you need into config, "+
				"because nothing is fetched where it is graded", file, named)
		}
	}
	return nil
}

// present reports whether there is a file or a directory of that path.
func present(files map[string][]byte, name string) bool {
	if _, ok := files[name]; ok {
		return true
	}
	for file := range files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// load returns the objects at a path in config, as [manifest.Load] does: those of a file, of a kustomization, or of the files in a directory
// without one. A cluster takes CustomResourceDefinitions from files with more endings, whether or not there is a kustomization.
func load(memory filesys.FileSystem, files map[string][]byte, name string) ([]*Object, error) {
	if content, isFile := files[name]; isFile {
		return parse(name, content)
	}
	kustomized := slices.ContainsFunc(kustomizationNames, func(file string) bool { _, ok := files[name+"/"+file]; return ok })
	if kustomized && name != definitions {
		return render(memory, name)
	}
	endings := "*.yaml *.yml"
	if name == definitions {
		endings = "*.y*ml"
	}
	var objects []*Object
	for _, file := range slices.Sorted(maps.Keys(files)) {
		matches := func(ending string) bool { ok, err := path.Match(name+"/"+ending, file); return ok && err == nil }
		if slices.Contains(kustomizationNames, path.Base(file)) || !slices.ContainsFunc(strings.Fields(endings), matches) {
			continue
		}
		parsed, err := parse(file, files[file])
		if err != nil {
			return nil, err
		}
		objects = append(objects, parsed...)
	}
	return objects, nil
}

// parse returns the objects of a file that is applied as it is.
func parse(file string, content []byte) ([]*Object, error) {
	parsed, err := manifest.Parse(content)
	if err != nil {
		return nil, refuse("config/%s can't be read: %v", file, err)
	}
	return parsed.Objects(), nil
}

// render builds the kustomization in a directory of config, as [manifest.Render] does.
func render(memory filesys.FileSystem, directory string) (objects []*Object, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			objects, err = nil, refuse("config/%s can't be rendered: kustomize crashes on it (%v)", directory, cause)
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(memory, path.Join(inMemory, directory))
	if err != nil {
		return nil, refuse("config/%s can't be rendered: %s", directory, strings.ReplaceAll(err.Error(), inMemory+"/", "config/"))
	}
	for _, resource := range resources.Resources() {
		content, err := resource.MarshalJSON()
		object := &Object{}
		if err == nil {
			err = object.UnmarshalJSON(content)
		}
		if err != nil {
			return nil, refuse("config/%s has %s %s, which is not an object: %v", directory, resource.GetKind(), resource.GetName(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// documents returns the documents of a YAML stream that are objects.
func documents(content []byte) []*Object {
	var objects []*Object
	for document := range bytes.SplitSeq(append([]byte("\n"), content...), []byte("\n---")) {
		if parsed, err := manifest.Parse(document); err == nil {
			objects = append(objects, parsed.Objects()...)
		}
	}
	return objects
}
