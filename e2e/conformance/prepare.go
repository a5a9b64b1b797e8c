package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Foreign is an operator as its author gives it away.
type Foreign struct {
	// Operator is its executable, or its image: anything that image.Open takes.
	Operator string
	// Manifests is the directory of the kustomization that installs it, or a file such as install.yaml: its
	// CustomResourceDefinition, its permissions, and the Deployment of its manager.
	Manifests string
	// CRDs are files of other CustomResourceDefinitions that the operator needs, and directories of such files.
	CRDs []string
	// Args and Env ("NAME=value") come behind those of the manager's Deployment, and so prevail.
	Args, Env []string
}

// Prepared is an operator that a suite can run.
type Prepared struct {
	// Binary is its executable.
	Binary string
	// Manifests is a file that says how to run it.
	Manifests string
	// Notes are sentences on what is not as its author gives it away.
	Notes []string
}

// Prepare makes the operator ready for a suite. What it writes is in the directory work, and belongs there as long as the suite runs.
func (f Foreign) Prepare(ctx context.Context, work string) (Prepared, error) {
	rendered, err := runner.Load(f.Manifests)
	if err != nil {
		return Prepared{}, err
	}
	manager, err := rendered.Manager()
	if err != nil {
		return Prepared{}, err
	}
	program, err := f.program(ctx, manager, work)
	if err != nil {
		return Prepared{}, err
	}
	if err := f.configure(rendered, program); err != nil {
		return Prepared{}, err
	}
	definitions, err := readDefinitions(f.CRDs)
	if err != nil {
		return Prepared{}, err
	}
	objects, notes := leaveOut(append(definitions, rendered.Objects()...), slices.Concat(manager.Args, program.Args, f.Args))
	content, err := runner.NewManifests(objects...).YAML()
	if err != nil {
		return Prepared{}, err
	}
	prepared := Prepared{Binary: program.Path, Manifests: filepath.Join(work, "manifests.yaml"), Notes: notes}
	return prepared, os.WriteFile(prepared.Manifests, content, 0o600)
}

// readDefinitions reads the CustomResourceDefinitions in files, and in the YAML files of directories.
func readDefinitions(paths []string) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, path := range paths {
		files, err := filepath.Glob(filepath.Join(path, "*.y*ml"))
		if err != nil {
			return nil, fmt.Errorf("read the CRDs in %s: %w", path, err)
		}
		if len(files) == 0 {
			files = []string{path}
		}
		for _, file := range files {
			m, err := runner.Load(file)
			if err != nil {
				return nil, err
			}
			definitions = append(definitions, m.Select(definition)...)
		}
	}
	return definitions, nil
}

const (
	// definition is the kind of a CRD.
	definition = "CustomResourceDefinition"
	// certificates is the API group of cert-manager.
	certificates = "cert-manager.io"
	// certificateFlag is what kubebuilder calls the flag of the directory that the webhooks' certificate is in.
	certificateFlag = "webhook-cert-path"
)

// leaveOut returns the objects without those that the cluster can't have, and a note on each kind: those of kinds that neither
// Kubernetes nor the objects define, and webhooks whose certificate was to be made by one of them. Where the manager's arguments say
// that it reads the certificate from files, the testbed makes it.
func leaveOut(objects []*unstructured.Unstructured, args []string) (kept []*unstructured.Unstructured, notes []string) {
	defined := map[schema.GroupKind]bool{}
	for _, object := range objects {
		if object.GetKind() == definition {
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
			defined[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	uncertified := false
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		if defined[gvk.GroupKind()] || gvk.Kind == definition || clientgoscheme.Scheme.Recognizes(gvk) {
			kept = append(kept, object)
			continue
		}
		uncertified = uncertified || gvk.Group == certificates
		notes = append(notes, fmt.Sprintf("left out %s %s: the cluster does not know the kind of %s", gvk.Kind, object.GetName(), gvk.GroupVersion()))
	}
	if !uncertified || slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), certificateFlag) }) {
		return kept, notes
	}
	return slices.DeleteFunc(kept, func(object *unstructured.Unstructured) bool {
		isWebhook := strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
		if isWebhook {
			notes = append(notes, fmt.Sprintf("left out %s %s: the manager has no --%s, so its webhooks have no certificate", object.GetKind(), object.GetName(), certificateFlag))
		}
		return isWebhook
	}), notes
}

// program returns the executable, and what its image says of how to run it.
func (f Foreign) program(ctx context.Context, manager runner.Manager, work string) (image.Program, error) {
	if image.IsProgram(f.Operator) {
		path, err := filepath.Abs(f.Operator)
		return image.Program{Path: path}, err
	}
	img, err := image.Open(ctx, f.Operator)
	if err != nil {
		return image.Program{}, err
	}
	return img.Program(ctx, work, manager.Command, manager.Args)
}

// configure has the manager's Deployment say what the image and the options say. As for a kubelet, the Deployment prevails over the
// image, and the options prevail over both.
func (f Foreign) configure(m runner.Manifests, program image.Program) error {
	object := m.Select("Deployment")[0]
	d := &appsv1.Deployment{}
	if err := k8sruntime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d); err != nil {
		return fmt.Errorf("reading the manager's Deployment %s: %w", object.GetName(), err)
	}
	container := &d.Spec.Template.Spec.Containers[0]
	container.Args = slices.Concat(program.Args, container.Args, f.Args)
	container.Env = slices.Concat(variables(program.Env), container.Env, variables(f.Env))
	var err error
	object.Object, err = k8sruntime.DefaultUnstructuredConverter.ToUnstructured(d)
	return err
}

// variables returns the variables ("NAME=value") in a container's form.
func variables(env []string) []corev1.EnvVar {
	var vars []corev1.EnvVar
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	return vars
}
