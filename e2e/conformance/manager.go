package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// workloads are the kinds that can run a manager. As a process, all are the same.
var workloads = []string{"Deployment", "StatefulSet", "DaemonSet"}

// controlPlane is the label that scaffolds give the pods of the manager.
const controlPlane = "control-plane"

// selectManager returns the manifests with one workload, the manager's, as a Deployment, and a note on each other one, which is left out
// because it would not run. Of several, the manager's is the one that runs the operator's image, or else the one with the label of scaffolds.
func (f Foreign) selectManager(m manifest.Set) (manifest.Set, []string, error) {
	found := m.Select(workloads...)
	if len(found) == 0 {
		return m, nil, fmt.Errorf("the manifests %s have no Deployment, StatefulSet or DaemonSet: add the one that runs the operator", f.Manifests)
	}
	managers := found
	for _, isManager := range []func(*appsv1.Deployment) bool{
		func(d *appsv1.Deployment) bool { return len(containersOf(d, f.Operator)) > 0 },
		func(d *appsv1.Deployment) bool { return d.Spec.Template.Labels[controlPlane] != "" },
	} {
		var candidates []*unstructured.Unstructured
		for _, object := range managers {
			d, err := deploymentFrom(object)
			if err != nil {
				return m, nil, err
			}
			if isManager(d) {
				candidates = append(candidates, object)
			}
		}
		if len(candidates) > 0 {
			managers = candidates
		}
	}
	if len(managers) > 1 {
		return m, nil, fmt.Errorf("the manifests %s have several workloads, and any of these may run the operator: %s: give OPERATOR as the image that it runs, "+
			"or give the pods of one of them the label %s", f.Manifests, strings.Join(namesOf(managers), ", "), controlPlane)
	}
	manager := managers[0]
	isOther := func(o *unstructured.Unstructured) bool {
		return slices.Contains(workloads, o.GetKind()) && o != manager
	}
	var notes []string
	for _, object := range found {
		if isOther(object) {
			notes = append(notes, fmt.Sprintf("left out %s %s: only the manager runs", object.GetKind(), object.GetName()))
		}
	}
	objects := slices.DeleteFunc(m.Objects(), isOther)
	manager.SetKind("Deployment")
	return manifest.New(objects...), notes, nil
}

func namesOf(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, object := range objects {
		names = append(names, strings.TrimSpace(object.GetKind()+" "+object.GetName()))
	}
	return names
}

// deploymentFrom returns a workload as a Deployment, which has no fields that only other kinds have.
func deploymentFrom(workload *unstructured.Unstructured) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	if err := k8sruntime.DefaultUnstructuredConverter.FromUnstructured(workload.Object, d); err != nil {
		return nil, fmt.Errorf("read the manager's %s %s: %w", workload.GetKind(), workload.GetName(), err)
	}
	return d, nil
}

// containersOf returns the names of the containers that run an image.
func containersOf(d *appsv1.Deployment, image string) []string {
	wanted, err := name.ParseReference(image)
	if err != nil { // an executable, or an archive
		return nil
	}
	var names []string
	for _, container := range d.Spec.Template.Spec.Containers {
		if runs, err := name.ParseReference(container.Image); err == nil && runs.Name() == wanted.Name() {
			names = append(names, container.Name)
		}
	}
	return names
}
