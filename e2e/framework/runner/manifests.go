package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

// Manifests are the objects that install an operator, as `kubectl kustomize` renders them.
type Manifests struct {
	objects []*unstructured.Unstructured
}

// NewManifests returns manifests of the objects.
func NewManifests(objects ...*unstructured.Unstructured) Manifests {
	return Manifests{objects: objects}
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
func Render(dir string) (Manifests, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl does: a Namespace before what is in it
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return Manifests{}, fmt.Errorf("rendering the kustomization %s: %w", dir, err)
	}
	var m Manifests
	for _, resource := range resources.Resources() {
		// Through JSON, for its numbers: kustomize's own are ints, which apimachinery can't copy.
		object := &unstructured.Unstructured{}
		content, err := resource.MarshalJSON()
		if err == nil {
			err = object.UnmarshalJSON(content)
		}
		if err != nil {
			return Manifests{}, fmt.Errorf("rendering the kustomization %s: %w", dir, err)
		}
		m.objects = append(m.objects, object)
	}
	return m, nil
}

// Load returns the manifests at path: a file has them as YAML, as `kubectl apply -f` takes it, and a directory is a kustomization or
// has such files.
func Load(path string) (Manifests, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Manifests{}, fmt.Errorf("reading the manifests: %w", err)
	}
	if info.IsDir() {
		return loadDirectory(path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return Manifests{}, fmt.Errorf("reading the manifests: %w", err)
	}
	m, err := Parse(content)
	if err != nil {
		return Manifests{}, fmt.Errorf("reading the manifests %s: %w", path, err)
	}
	return m, nil
}

func loadDirectory(path string) (Manifests, error) {
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || slices.ContainsFunc(files, isKustomization) {
		return Render(path)
	}
	var all Manifests
	for _, file := range files {
		if extension := filepath.Ext(file); extension != ".yaml" && extension != ".yml" {
			continue
		}
		m, err := Load(file)
		if err != nil {
			return Manifests{}, err
		}
		all.objects = append(all.objects, m.objects...)
	}
	return all, nil
}

func isKustomization(file string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file))
}

// Parse returns the manifests of a YAML stream, in its order.
func Parse(content []byte) (Manifests, error) {
	var m Manifests
	for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
		var raw json.RawMessage
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return m, nil
		case err != nil:
			return Manifests{}, err
		case len(raw) == 0 || string(raw) == "null": // a document of comments
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return Manifests{}, err
		}
		m.objects = append(m.objects, object)
	}
}

// YAML returns the manifests as `kubectl kustomize` prints them.
func (m Manifests) YAML() ([]byte, error) {
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
func (m Manifests) Objects() []*unstructured.Unstructured { return slices.Clone(m.objects) }

// Select returns the objects of the kinds.
func (m Manifests) Select(kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}

// Without returns the objects that are of none of the kinds.
func (m Manifests) Without(kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *unstructured.Unstructured) bool { return slices.Contains(kinds, o.GetKind()) })
}

// Manager is what the manifests say about how the operator's process runs.
type Manager struct {
	// Deployment names the manager's Deployment.
	Deployment client.ObjectKey
	// ServiceAccount is who the process is.
	ServiceAccount client.ObjectKey
	// Command is the program and its first arguments where the manifests say so; else the image does.
	Command []string
	// Args are its arguments and Env its environment, of which only literal values, the pod's own namespace and its ServiceAccount can be
	// had outside a pod.
	Args []string
	Env  []string
	// Ports are those that the containers of its pod declare.
	Ports []string
	// Certificates are the directories in which its container expects a certificate that somebody else makes, such as cert-manager:
	// those at which Secrets are mounted that the manifests lack, and that of --webhook-cert-path. The process finds one there if it
	// knows the directory by an argument, by a variable, or by that of temporary files.
	Certificates []string
}

// UserName returns the name of the manager's user in the API server.
func (m Manager) UserName() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", m.ServiceAccount.Namespace, m.ServiceAccount.Name)
}

// Manager finds the manager in the manifests: the only Deployment, the way kubebuilder lays a project out.
func (m Manifests) Manager() (Manager, error) {
	d, err := m.deployment()
	if err != nil {
		return Manager{}, err
	}
	container := d.Spec.Template.Spec.Containers[0]
	var ports []string
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			ports = append(ports, strconv.Itoa(int(p.ContainerPort)))
		}
	}
	return Manager{
		Ports:          ports,
		Deployment:     client.ObjectKeyFromObject(d),
		ServiceAccount: client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName},
		Command:        slices.Clone(container.Command),
		Args:           slices.Clone(container.Args),
		Env:            environment(container.Env, d),
		Certificates:   m.certificates(d),
	}, nil
}

// deployment returns the manager's Deployment, which has a container.
func (m Manifests) deployment() (*appsv1.Deployment, error) {
	deployments := m.Select("Deployment")
	if len(deployments) != 1 {
		return nil, fmt.Errorf("the manifests have %d Deployments where one, the manager's, was expected", len(deployments))
	}
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployments[0].Object, d); err != nil {
		return nil, fmt.Errorf("reading the manager's Deployment %s: %w", deployments[0].GetName(), err)
	}
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("the manager's Deployment %s has no container", d.Name)
	}
	return d, nil
}

// environment returns the variables with literal values, and those with fields of the pod that the Deployment d decides.
func environment(vars []corev1.EnvVar, d *appsv1.Deployment) []string {
	fields := map[string]string{"metadata.namespace": d.Namespace, "spec.serviceAccountName": d.Spec.Template.Spec.ServiceAccountName}
	var env []string
	for _, v := range vars {
		switch {
		case v.ValueFrom == nil:
			env = append(env, v.Name+"="+v.Value)
		case v.ValueFrom.FieldRef != nil:
			if value, ok := fields[v.ValueFrom.FieldRef.FieldPath]; ok {
				env = append(env, v.Name+"="+value)
			}
		}
	}
	return env
}
