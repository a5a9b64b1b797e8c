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
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

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
	// Args and Env ("NAME=value") come behind those of the manager's Deployment, and so prevail.
	Args, Env []string
}

// Prepare makes the operator ready for a suite. It returns its executable, and a file of manifests that say how it runs. Both may be
// in the directory work, and belong there as long as the suite runs.
func (f Foreign) Prepare(ctx context.Context, work string) (binary, manifests string, err error) {
	rendered, err := runner.Load(f.Manifests)
	if err != nil {
		return "", "", err
	}
	manager, err := rendered.Manager()
	if err != nil {
		return "", "", err
	}
	program, err := f.program(ctx, manager, work)
	if err != nil {
		return "", "", err
	}
	if err := f.configure(rendered, program); err != nil {
		return "", "", err
	}
	content, err := rendered.YAML()
	if err != nil {
		return "", "", err
	}
	manifests = filepath.Join(work, "manifests.yaml")
	return program.Path, manifests, os.WriteFile(manifests, content, 0o600)
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
