package framework_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// at is a version of an object whose UID is its name.
func at(revision uint64, kind, name string, spec, status map[string]any) record.Version {
	return record.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
		"kind": kind, "metadata": map[string]any{"name": name, "uid": name}, "spec": spec, "status": status,
	}}}
}

// says is a version of the custom resource "cache" with a condition, which may be about a generation.
func says(revision uint64, generation, size int64, conditionType, status string, observedGeneration int64) record.Version {
	v := at(revision, "Memcached", "cache", map[string]any{"size": size}, map[string]any{"conditions": []any{
		map[string]any{"type": conditionType, "status": status, "observedGeneration": observedGeneration},
	}})
	v.Object.SetGeneration(generation)
	return v
}

func podAt(revision uint64, name, ready string) record.Version {
	return at(revision, "Pod", name, nil, map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}})
}

func leaving(v record.Version) record.Version {
	v.Object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return v
}

func deploymentAt(revision uint64, ready int64) record.Version {
	return at(revision, "Deployment", "cache", nil, map[string]any{"readyReplicas": ready})
}

func TestEarly(t *testing.T) {
	available := func(revision uint64, size int64) record.Version {
		return says(revision, 1, size, "Available", "True", 1)
	}
	for name, tc := range map[string]struct {
		versions []record.Version
		early    string
	}{
		"true":                      {[]record.Version{podAt(1, "a", "True"), podAt(2, "b", "True"), deploymentAt(3, 2), available(4, 2)}, "[]"},
		"a pod is missing":          {[]record.Version{deploymentAt(1, 2), podAt(2, "a", "True"), available(3, 2)}, "[revision 3 says so: of 2 pods, [1 2] were ready]"},
		"a pod is not ready":        {[]record.Version{deploymentAt(1, 2), podAt(2, "a", "True"), podAt(3, "b", "False"), available(4, 2)}, "[revision 4 says so: of 2 pods, [1 2] were ready]"},
		"a pod gets ready too late": {[]record.Version{deploymentAt(1, 2), podAt(2, "a", "True"), available(3, 2), podAt(4, "b", "True")}, "[revision 3 says so: of 2 pods, [1 2] were ready]"},
		"a pod is being deleted":    {[]record.Version{deploymentAt(1, 1), leaving(podAt(2, "a", "True")), available(3, 1)}, "[revision 3 says so: of 1 pods, [0 1] were ready]"},
		"the Deployment has fewer":  {[]record.Version{podAt(1, "a", "True"), podAt(2, "b", "True"), deploymentAt(3, 1), available(4, 2), deploymentAt(5, 2)}, "[revision 4 says so: of 2 pods, [2 1] were ready]"},
		"the Deployment fell":       {[]record.Version{podAt(1, "a", "True"), deploymentAt(2, 1), deploymentAt(3, 0), available(4, 1)}, "[revision 4 says so: of 1 pods, [1 0] were ready]"},
		"another's Deployment":      {[]record.Version{podAt(1, "a", "True"), at(2, "Deployment", "other", nil, map[string]any{"readyReplicas": int64(1)}), available(3, 1)}, "[revision 3 says so: of 1 pods, [1 0] were ready]"},
		"there is nothing":          {[]record.Version{available(2, 1)}, "[revision 2 says so: of 1 pods, [0 0] were ready]"},
		"False":                     {[]record.Version{says(3, 1, 2, "Available", "False", 1)}, "[]"},
		"another condition":         {[]record.Version{says(3, 1, 2, "Progressing", "True", 1)}, "[]"},
		"deleted":                   {[]record.Version{{Revision: 3, Deleted: true, Object: available(3, 2).Object}}, "[]"},
		"repeated, another size":    {[]record.Version{deploymentAt(1, 1), podAt(2, "a", "True"), available(3, 1), says(4, 2, 5, "Available", "True", 1)}, "[]"},
		"another size since then":   {[]record.Version{deploymentAt(1, 1), podAt(2, "a", "True"), says(3, 1, 1, "Available", "False", 1), says(4, 2, 5, "Available", "True", 1)}, "[]"},
		"too few of the new size":   {[]record.Version{deploymentAt(1, 1), podAt(2, "a", "True"), says(3, 1, 1, "Available", "False", 1), says(4, 2, 5, "Available", "True", 2)}, "[revision 4 says so: of 5 pods, [1 1] were ready]"},
		"no observedGeneration":     {[]record.Version{deploymentAt(1, 1), podAt(2, "a", "True"), says(3, 1, 1, "Available", "True", 0), says(4, 2, 5, "Available", "True", 0), says(5, 2, 5, "Available", "False", 0), says(6, 2, 5, "Available", "True", 0)}, "[revision 6 says so: of 5 pods, [1 1] were ready]"},
		"written again after a loss": {[]record.Version{deploymentAt(1, 1), podAt(2, "a", "True"), available(3, 1), podAt(4, "a", "False"),
			says(5, 1, 1, "Available", "False", 1), available(6, 1)}, "[revision 6 says so: of 1 pods, [0 1] were ready]"},
	} {
		t.Run(name, func(t *testing.T) {
			early := framework.Early(tc.versions, "cache", "Available", "spec.size", framework.ReadyPods, framework.CountedBy("cache"))
			if got := fmt.Sprint(early); got != tc.early {
				t.Errorf("got %s, expected %s", got, tc.early)
			}
		})
	}
}
