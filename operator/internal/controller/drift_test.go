package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// Every field that the operator sets, as listed by the apply configuration, is changed and removed.
func TestEveryOwnedFieldIsWatched(t *testing.T) {
	desired := desiredDeployment(testMemcached(3), testImage)
	for _, path := range ownedFields(t) {
		for how, change := range map[string]func(any) any{"changed": changed, "removed": removed} {
			t.Run(fmt.Sprintf("%v %s", path, how), func(t *testing.T) {
				live := edit(t, desired, path, change)
				paths := ssa.Drift(desired, live)
				if len(paths) == 0 {
					t.Error("there is no drift")
				}
			})
		}
	}
}

func TestEveryOwnedFieldIsRestored(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	desired := desiredDeployment(f.memcached(), testImage)
	healthy := f.deployment()
	for _, path := range ownedFields(t) {
		for how, change := range map[string]func(any) any{"changed": changed, "removed": removed} {
			t.Run(fmt.Sprintf("%v %s", path, how), func(t *testing.T) {
				if fmt.Sprint(path) == "[metadata ownerReferences 0 uid]" {
					t.Skip("a Deployment that another object controls is that object's")
				}
				f.t = t
				f.restartOperator(testImage) // so many changes of one field in a row would be a program's
				f.updateDeployment(func(deployment *appsv1.Deployment) {
					version := deployment.ResourceVersion
					*deployment = *edit(t, healthy, path, change)
					deployment.ResourceVersion = version
				})
				writes := f.reconcile()
				if applies := slices.DeleteFunc(writes, func(write string) bool { return write != applyDeployment }); len(applies) != 1 {
					t.Errorf("the Deployment was applied %d times, want once", len(applies))
				}
				paths := ssa.Drift(desired, f.deployment())
				if len(paths) > 0 {
					t.Errorf("still not as it should be: %q", paths)
				}
			})
		}
	}
}

func TestForeignFieldsAreNotDrift(t *testing.T) {
	desired := desiredDeployment(testMemcached(1), testImage)
	for name, add := range map[string]func(*appsv1.Deployment){
		"a label":       func(d *appsv1.Deployment) { d.Labels["team"] = "a" },
		"an annotation": func(d *appsv1.Deployment) { d.Annotations["team"] = "a" },
		"an owner": func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{UID: "x"})
		},
		"a finalizer": func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/x"} },
		"a field":     func(d *appsv1.Deployment) { d.Spec.Paused = true },
		"a container before": func(d *appsv1.Deployment) {
			s := &d.Spec.Template.Spec
			s.Containers = append([]corev1.Container{{Name: "a"}}, s.Containers...)
		},
		"a spread over other domains": func(d *appsv1.Deployment) {
			s := &d.Spec.Template.Spec
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, corev1.TopologySpreadConstraint{TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule})
		},
		"an init container": func(d *appsv1.Deployment) { d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "a"}} },
		"an environment": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		},
		"a template annotation": func(d *appsv1.Deployment) { d.Spec.Template.Annotations = map[string]string{"a": "b"} },
		"a limit": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = *desired.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu()
		},
		"a default of the server": func(d *appsv1.Deployment) { d.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst },
	} {
		t.Run(name, func(t *testing.T) {
			live, err := ssa.Deployment(desired)
			if err != nil {
				t.Fatal(err)
			}
			add(live)
			paths := ssa.Drift(desired, live)
			if len(paths) > 0 {
				t.Errorf("taken for drift: %q", paths)
			}
		})
	}
}

// The paths are for people who read the log.
func TestDriftNamesTheFields(t *testing.T) {
	desired := desiredDeployment(testMemcached(3), testImage)
	live, err := ssa.Deployment(desired)
	if err != nil {
		t.Fatal(err)
	}
	live.Spec.Replicas = new(int32(7))
	delete(live.Labels, cachev1alpha1.LabelMemcachedUID)
	live.Spec.Template.Spec.Containers[0].Image = "other"
	live.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 9999
	live.OwnerReferences = nil

	paths := ssa.Drift(desired, live)
	want := []string{
		"metadata.labels.cache.example.com/memcached-uid",
		"metadata.ownerReferences[memcached-uid]",
		"spec.replicas",
		"spec.template.spec.containers[memcached].image",
		"spec.template.spec.containers[memcached].ports[11211,TCP]",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// ownedFields returns the paths of all fields that the operator sets and that can be changed.
func ownedFields(t *testing.T) [][]any {
	t.Helper()
	fixed := []string{"[apiVersion]", "[kind]", "[metadata name]", "[metadata namespace]", "[spec selector"}
	var fields [][]any
	for _, path := range leaves(t, desiredDeployment(testMemcached(3), testImage)) {
		if !slices.ContainsFunc(fixed, func(prefix string) bool { return strings.HasPrefix(fmt.Sprint(path), prefix) }) {
			fields = append(fields, path)
		}
	}
	if len(fields) < 40 {
		t.Fatalf("the operator sets only %d fields, want more: is the list correct?", len(fields))
	}
	return fields
}

// edit returns source, a Deployment in some form, after a change of one value in its JSON.
func edit(t *testing.T, source any, path []any, change func(any) any) *appsv1.Deployment {
	t.Helper()
	text, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	value := root
	for _, element := range path[:len(path)-1] {
		switch element := element.(type) {
		case string:
			value = value.(map[string]any)[element]
		case int:
			value = value.([]any)[element]
		}
	}
	switch last := path[len(path)-1].(type) {
	case string:
		fields := value.(map[string]any)
		if fields[last] = change(fields[last]); fields[last] == nil {
			delete(fields, last)
		}
	case int:
		// An element of a list of plain values can't be removed, so it becomes empty.
		list := value.([]any)
		if list[last] = change(list[last]); list[last] == nil {
			list[last] = ""
		}
	}
	if text, err = json.Marshal(root); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(text, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

// changed returns another value of the same type.
func changed(value any) any {
	switch value := value.(type) {
	case string:
		if strings.HasSuffix(value, "Mi") || strings.HasSuffix(value, "m") && value[0] <= '9' {
			return "1" + value // a quantity
		}
		return value + "x"
	case float64:
		return value + 1
	case bool:
		return !value
	}
	panic(fmt.Sprintf("no other value for %v", value))
}

func removed(any) any { return nil }
