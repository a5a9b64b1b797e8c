package conformance

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Mapping describes the API of a Memcached operator. It implements [Operator].
type Mapping struct {
	API
	// Group, Version and Kind name the custom resource.
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is the kind's plural in lower case, as in URLs.
	Resource string `json:"resource"`
	// Spec contains what every object needs besides its size and port.
	Spec map[string]any `json:"spec,omitempty"`
	// Args and Env ("NAME=value") are added after those of the manager's Deployment, and therefore take precedence. An operator that runs
	// outside a pod may need some.
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
}

// ReadMapping reads a mapping from a YAML file, which may also be a [Config] with a mapping. An unknown key is an error.
func ReadMapping(path string) (Mapping, error) {
	config, err := decodeConfig(path)
	if err == nil {
		err = config.Mapping.check()
	}
	if err != nil {
		return Mapping{}, fmt.Errorf("read the mapping %s: %w", path, err)
	}
	return config.Mapping, nil
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

// Describe returns the description of the API.
func (m Mapping) Describe() API { return m.API }

// New returns an object with the fields that every object needs.
func (m Mapping) New(namespace, name string, size, port int32) client.Object {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(m.GVK())
	object.SetNamespace(namespace)
	object.SetName(name)
	if m.Spec != nil {
		object.Object["spec"] = runtime.DeepCopyJSON(m.Spec)
	}
	m.Resize(object, size)
	m.SetPort(object, port)
	return object
}

// Resize sets the field of the size.
func (m Mapping) Resize(object client.Object, size int32) { set(object, m.Fields.Size, size) }

// SetPort sets the field of the port, if there is one.
func (m Mapping) SetPort(object client.Object, port int32) {
	if m.Fields.Port != "" {
		set(object, m.Fields.Port, port)
	}
}

// set sets the field at place. It can't fail on an object that New returned: what is on the way is a map.
func set(object client.Object, place string, value int32) {
	content := object.(*unstructured.Unstructured).Object
	if err := unstructured.SetNestedField(content, int64(value), strings.Split(place, ".")...); err != nil {
		panic(err)
	}
}
