package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// UnknownVariableError is the error about a variable of the manager's container whose value only a pod has.
type UnknownVariableError struct {
	// Deployment is the manager's, and Variable the name of the variable.
	Deployment, Variable string
	// Source is where a kubelet would take the value from, and why that is not possible here.
	Source string
}

// Error says what to do about it.
func (e *UnknownVariableError) Error() string {
	return fmt.Sprintf("the variable %s of the manager's Deployment %s needs %s: set the variable to a value", e.Variable, e.Deployment, e.Source)
}

// SetEnv sets variables ("NAME=value") of a container, in place of those of the same names.
func SetEnv(container *corev1.Container, env ...string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		container.Env = slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == name })
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

// containerEnvironment is what a kubelet makes of a container's variables.
type containerEnvironment struct {
	manifests  Set
	deployment *appsv1.Deployment
	container  *corev1.Container
	list       []string          // "NAME=value", in order
	values     map[string]string // by name
}

// environment returns the variables of the manager's container. The pod's name is its Deployment's, and its addresses are those of this
// machine.
func (m Set) environment(d *appsv1.Deployment, container *corev1.Container) (*containerEnvironment, error) {
	e := &containerEnvironment{manifests: m, deployment: d, container: container, values: map[string]string{}}
	for _, source := range container.EnvFrom {
		if err := e.addAll(source); err != nil {
			return nil, err
		}
	}
	for i, v := range container.Env {
		value, known, err := e.valueOf(v)
		replaced := slices.ContainsFunc(container.Env[i+1:], func(later corev1.EnvVar) bool { return later.Name == v.Name })
		if err != nil && !replaced {
			return nil, err
		}
		if known {
			e.add(v.Name, value)
		}
	}
	return e, nil
}

func (e *containerEnvironment) add(name, value string) {
	e.list = append(e.list, name+"="+value)
	e.values[name] = value
}

// addAll adds what a ConfigMap or a Secret has.
func (e *containerEnvironment) addAll(source corev1.EnvFromSource) error {
	kind, name, optional := "ConfigMap", "", (*bool)(nil)
	switch {
	case source.ConfigMapRef != nil:
		name, optional = source.ConfigMapRef.Name, source.ConfigMapRef.Optional
	case source.SecretRef != nil:
		kind, name, optional = "Secret", source.SecretRef.Name, source.SecretRef.Optional
	}
	data, found := e.manifests.dataOf(kind, e.deployment.Namespace, name)
	if !found && (optional == nil || !*optional) {
		return fmt.Errorf("the manager's Deployment %s takes variables from the %s %s, which the manifests lack: add it to them", e.deployment.Name, kind, name)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		e.add(source.Prefix+key, data[key])
	}
	return nil
}

// valueOf returns the value of a variable. It is not known if it is optional, and the manifests lack where it comes from.
func (e *containerEnvironment) valueOf(v corev1.EnvVar) (value string, known bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return e.expand(v.Value), true, nil
	case from.FieldRef != nil:
		if value, known = fieldOf(e.deployment, from.FieldRef.FieldPath); !known {
			err = e.unknown(v.Name, fmt.Sprintf("its pod's %s, which a process does not have", from.FieldRef.FieldPath))
		}
	case from.ResourceFieldRef != nil:
		if value, known = resourceOf(e.container, from.ResourceFieldRef); !known {
			err = e.unknown(v.Name, fmt.Sprintf("the container's %s, which the Deployment does not set", from.ResourceFieldRef.Resource))
		}
	case from.ConfigMapKeyRef != nil:
		return e.keyOf(v.Name, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		return e.keyOf(v.Name, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	default:
		err = e.unknown(v.Name, "a source that the testbed does not know")
	}
	return value, known, err
}

// keyOf returns what a ConfigMap or Secret of the manifests has for a variable.
func (e *containerEnvironment) keyOf(variable, kind, name, key string, optional *bool) (value string, known bool, err error) {
	data, _ := e.manifests.dataOf(kind, e.deployment.Namespace, name)
	value, known = data[key]
	if !known && (optional == nil || !*optional) {
		err = e.unknown(variable, fmt.Sprintf("the key %q of the %s %s, which the manifests lack", key, kind, name))
	}
	return value, known, err
}

func (e *containerEnvironment) unknown(variable, source string) error {
	return &UnknownVariableError{Deployment: e.deployment.Name, Variable: variable, Source: source}
}

// labelOrAnnotation is the path of one of a pod's labels or annotations.
var labelOrAnnotation = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// fieldOf returns a field of the manager's pod, or false for one that only a pod has.
func fieldOf(d *appsv1.Deployment, path string) (value string, known bool) {
	switch path {
	case "metadata.name":
		return d.Name, true
	case "metadata.namespace":
		return d.Namespace, true
	case "spec.serviceAccountName":
		return d.Spec.Template.Spec.ServiceAccountName, true
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return "127.0.0.1", true
	}
	match := labelOrAnnotation.FindStringSubmatch(path)
	if match == nil {
		return "", false
	}
	all := map[string]map[string]string{"labels": d.Spec.Template.Labels, "annotations": d.Spec.Template.Annotations}
	return all[match[1]][match[2]], true
}

// resourceOf returns a limit or request of the manager's container, or false if the container does not have it: a node would decide.
func resourceOf(container *corev1.Container, ref *corev1.ResourceFieldSelector) (value string, known bool) {
	quantities := corev1.ResourceList{}
	for prefix, list := range map[string]corev1.ResourceList{"limits.": container.Resources.Limits, "requests.": container.Resources.Requests} {
		for name, quantity := range list {
			quantities[corev1.ResourceName(prefix)+name] = quantity
		}
	}
	quantity, known := quantities[corev1.ResourceName(ref.Resource)]
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if !known || ref.ContainerName != "" && ref.ContainerName != container.Name {
		return "", false
	}
	n, by := quantity.Value(), divisor.Value()
	if strings.HasSuffix(ref.Resource, ".cpu") { // in thousandths
		n, by = quantity.MilliValue(), divisor.MilliValue()
	}
	return fmt.Sprint((n + by - 1) / by), true
}

// dataOf returns what a ConfigMap or a Secret of the manifests has.
func (m Set) dataOf(kind, namespace, name string) (data map[string]string, found bool) {
	for _, object := range m.Select(kind) {
		if object.GetNamespace() != namespace || object.GetName() != name {
			continue
		}
		data, _, _ = unstructured.NestedStringMap(object.Object, "data")
		if kind == "Secret" {
			for key, value := range data {
				decoded, _ := base64.StdEncoding.DecodeString(value) // the API server refuses what is not in base64
				data[key] = string(decoded)
			}
			plain, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
			if data == nil {
				data = map[string]string{}
			}
			maps.Copy(data, plain)
		}
		return data, true
	}
	return nil, false
}

// reference is a variable in a container's arguments or variables: $(NAME). Two dollar signs stand for one.
var reference = regexp.MustCompile(`\$\$|\$\([^()]*\)`)

// expand replaces references to the variables that are known so far, as a kubelet does.
func (e *containerEnvironment) expand(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, known := e.values[found[2:len(found)-1]]; known {
			return value
		}
		return found
	})
}

func (e *containerEnvironment) expandAll(texts []string) []string {
	expanded := slices.Clone(texts)
	for i := range expanded {
		expanded[i] = e.expand(expanded[i])
	}
	return expanded
}
