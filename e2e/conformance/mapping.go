package conformance

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Mapping says what an operator's API calls what.
type Mapping struct {
	// Group, Version and Kind name the custom resource.
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is the kind's plural in lower case, as URLs have it.
	Resource string `json:"resource"`
	// Fields are the places of the fields, with dots between their parts.
	Fields Fields `json:"fields"`
	// Conditions are the types of the conditions.
	Conditions Conditions `json:"conditions"`
	// Deployment is the name of an object's Deployment, in which {name} stands for the object's own.
	Deployment string `json:"deployment"`
	// Spec is what every object needs beside its size and port.
	Spec map[string]any `json:"spec,omitempty"`
	// Args and Env ("NAME=value") come behind those of the manager's Deployment, and so prevail. An operator that runs
	// outside a pod may need some.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// DeadlineArgs come behind Args for the one point that waits until the operator gives up on its pods: they make it do so
	// after a second. Without them, that point does not apply.
	DeadlineArgs []string `json:"deadlineArgs,omitempty"`
}

// Fields are places such as "spec.size".
type Fields struct {
	// Size is how many pods are asked for.
	Size string `json:"size"`
	// Port is the port that memcached listens on. Empty means that the API has none, and points about it do not apply.
	Port string `json:"port,omitempty"`
}

// Conditions are the types of conditions in status.conditions.
type Conditions struct {
	// Available says whether as many pods are ready as asked for.
	Available string `json:"available"`
	// Progressing says whether the pods are on their way to what is asked for. Empty means that the API has none: points that
	// are only about it then do not apply, and others leave it out.
	Progressing string `json:"progressing,omitempty"`
	// Degraded says whether something keeps it from that. Empty means that the API has none: points about failures then
	// ask that Available is False.
	Degraded string `json:"degraded,omitempty"`
}

// ReadMapping reads a mapping from a YAML file. A field that it does not know is an error.
func ReadMapping(path string) (Mapping, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Mapping{}, fmt.Errorf("read the mapping: %w", err)
	}
	var m Mapping
	if err := yaml.UnmarshalStrict(content, &m); err != nil {
		return Mapping{}, fmt.Errorf("read the mapping %s: %w", path, err)
	}
	if err := m.check(); err != nil {
		return Mapping{}, fmt.Errorf("read the mapping %s: %w", path, err)
	}
	return m, nil
}

func (m Mapping) check() error {
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"group", m.Group}, {"version", m.Version}, {"kind", m.Kind}, {"resource", m.Resource},
		{"fields.size", m.Fields.Size}, {"conditions.available", m.Conditions.Available}, {"deployment", m.Deployment},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it lacks %s: add them, as in e2e/conformance/mappings", strings.Join(missing, ", "))
	}
	if !strings.Contains(m.Deployment, "{name}") {
		return errors.New("deployment has no {name} in it, so two objects in a namespace would share one: add it")
	}
	return nil
}

// GVK is the custom resource's kind.
func (m Mapping) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: m.Group, Version: m.Version, Kind: m.Kind}
}

// object makes a custom resource of that size and, where it has one, port.
func (m Mapping) object(namespace, name string, size, port int64) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(m.GVK())
	object.SetNamespace(namespace)
	object.SetName(name)
	if m.Spec != nil {
		object.Object["spec"] = runtime.DeepCopyJSON(m.Spec)
	}
	m.setSize(object, size)
	m.setPort(object, port)
	return object
}

func (m Mapping) setSize(object *unstructured.Unstructured, size int64) {
	set(object, m.Fields.Size, size)
}

func (m Mapping) setPort(object *unstructured.Unstructured, port int64) {
	if m.Fields.Port != "" {
		set(object, m.Fields.Port, port)
	}
}

// set sets the field at place. It can't fail on an object that this package made: what is on the way is a map.
func set(object *unstructured.Unstructured, place string, value int64) {
	if err := unstructured.SetNestedField(object.Object, value, strings.Split(place, ".")...); err != nil {
		panic(err)
	}
}
