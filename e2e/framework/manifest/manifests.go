// Package manifest reads the manifests that install an operator, and finds out from them how the operator runs. It only computes:
// package install applies manifests to a cluster, and package runner runs the operator.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

// Set holds the objects that install an operator, as `kubectl kustomize` renders them.
type Set struct {
	objects []*unstructured.Unstructured
}

// New returns manifests of the objects.
func New(objects ...*unstructured.Unstructured) Set {
	return Set{objects: objects}
}

// Local returns the directory called local beside a kustomization, which installs the operator as a process whose webhooks can be
// called, with a certificate of this machine's. If there is none, it returns the kustomization.
func Local(kustomization string) string {
	local := filepath.Join(filepath.Dir(kustomization), "local")
	if _, err := os.Stat(local); err != nil {
		return kustomization
	}
	return local
}

// Render builds the kustomization in dir with the kustomize that kubectl has inside.
func Render(dir string) (Set, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl does: a Namespace before what is in it
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return Set{}, fmt.Errorf("rendering the kustomization %s: %w", dir, err)
	}
	var m Set
	for _, resource := range resources.Resources() {
		// Through JSON, for its numbers: kustomize's own are ints, which apimachinery can't copy.
		object := &unstructured.Unstructured{}
		content, err := resource.MarshalJSON()
		if err == nil {
			err = object.UnmarshalJSON(content)
		}
		if err != nil {
			return Set{}, fmt.Errorf("rendering the kustomization %s: %w", dir, err)
		}
		m.objects = append(m.objects, object)
	}
	return m, nil
}

// Load returns the manifests at path: a file has them as YAML, as `kubectl apply -f` takes it, and a directory is a kustomization or
// has such files.
func Load(path string) (Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Set{}, fmt.Errorf("reading the manifests: %w", err)
	}
	if info.IsDir() {
		return loadDirectory(path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return Set{}, fmt.Errorf("reading the manifests: %w", err)
	}
	m, err := Parse(content)
	if err != nil {
		return Set{}, fmt.Errorf("reading the manifests %s: %w", path, err)
	}
	return m, nil
}

func loadDirectory(path string) (Set, error) {
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || slices.ContainsFunc(files, isKustomization) {
		return Render(path)
	}
	var all Set
	for _, file := range files {
		if extension := filepath.Ext(file); extension != ".yaml" && extension != ".yml" {
			continue
		}
		m, err := Load(file)
		if err != nil {
			return Set{}, err
		}
		all.objects = append(all.objects, m.objects...)
	}
	return all, nil
}

func isKustomization(file string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file))
}

// Parse returns the manifests of a YAML stream, in its order.
func Parse(content []byte) (Set, error) {
	var m Set
	for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
		var raw json.RawMessage
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return m, nil
		case err != nil:
			return Set{}, err
		case len(raw) == 0 || string(raw) == "null": // a document of comments
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return Set{}, err
		}
		m.objects = append(m.objects, object)
	}
}

// YAML returns the manifests as `kubectl kustomize` prints them.
func (m Set) YAML() ([]byte, error) {
	var documents [][]byte
	for _, object := range m.objects {
		document, err := sigsyaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}

// Objects returns all objects. Those of a kustomization are in the order in which kustomize sorts them: what others need comes
// first.
func (m Set) Objects() []*unstructured.Unstructured { return slices.Clone(m.objects) }

// Select returns the objects of the kinds.
func (m Set) Select(kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}

// Without returns the objects that are of none of the kinds.
func (m Set) Without(kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *unstructured.Unstructured) bool { return slices.Contains(kinds, o.GetKind()) })
}

// WriteCRDs writes the CustomResourceDefinitions to a file in the directory, which is created if it does not exist. A cluster
// that installs them when it starts does not have to discover them late.
func (m Set) WriteCRDs(directory string) error {
	content, err := Set{m.Select(CRD)}.YAML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "crds.yaml"), content, 0o600)
}
