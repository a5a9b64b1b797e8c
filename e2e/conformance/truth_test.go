package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework/record"
)

var testMapping = Mapping{Conditions: Conditions{Available: "Available", Progressing: "Progressing"}}

// at is a version of an object whose UID is its name.
func at(revision uint64, kind, name string, status, spec map[string]any) record.Version {
	return record.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
		"kind":     kind,
		"metadata": map[string]any{"name": name, "uid": name, "generation": int64(2)},
		"spec":     spec,
		"status":   status,
	}}}
}

// says is a version of the custom resource with a condition about that generation.
func says(revision uint64, conditionType, status string, generation int64) record.Version {
	return at(revision, "Memcached", "cache", map[string]any{"conditions": []any{
		map[string]any{"type": conditionType, "status": status, "observedGeneration": generation},
	}}, nil)
}

// pod is a version of a pod that is ready or not, and listens on the port.
func pod(revision uint64, name, ready string, port int64) record.Version {
	return at(revision, "Pod", name,
		map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		map[string]any{"containers": []any{map[string]any{"ports": []any{map[string]any{"containerPort": port}}}}})
}

// leaving is a version with which an object begins to go, and gone is its last one.
func leaving(v record.Version) record.Version {
	v.Object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return v
}

func gone(v record.Version) record.Version {
	v.Deleted = true
	return v
}

func deployment(revision uint64, ready int64) record.Version {
	return at(revision, "Deployment", "cache", map[string]any{"readyReplicas": ready}, nil)
}

func TestEarlyAvailable(t *testing.T) {
	const size = 2
	for name, tc := range map[string]struct {
		versions []record.Version
		count    count
		early    string
	}{
		"after the pods":            {[]record.Version{pod(1, "a", "True", 1), pod(2, "b", "True", 1), says(3, "Available", "True", 2)}, readyPods, ""},
		"before the pods":           {[]record.Version{pod(1, "a", "True", 1), says(3, "Available", "True", 2), pod(4, "b", "True", 1)}, readyPods, "revision 3 says so, with 1"},
		"while a pod goes":          {[]record.Version{pod(1, "a", "True", 1), leaving(pod(2, "b", "True", 1)), says(3, "Available", "True", 2)}, readyPods, "revision 3 says so, with 1"},
		"not Available":             {[]record.Version{says(3, "Available", "False", 2)}, readyPods, ""},
		"another condition":         {[]record.Version{says(3, "Progressing", "True", 2)}, readyPods, ""},
		"before the revision":       {[]record.Version{says(0, "Available", "True", 2)}, readyPods, ""},
		"after the Deployment":      {[]record.Version{deployment(1, 1), deployment(2, 2), says(3, "Available", "True", 2)}, countedBy("cache"), ""},
		"before the Deployment":     {[]record.Version{deployment(1, 1), says(3, "Available", "True", 2), deployment(4, 2)}, countedBy("cache"), "revision 3 says so, with 1"},
		"after another Deployment":  {[]record.Version{deployment(1, 2), says(3, "Available", "True", 2)}, countedBy("other"), "revision 3 says so, with 0"},
		"after the Deployment fell": {[]record.Version{deployment(1, 2), deployment(2, 0), says(3, "Available", "True", 2)}, countedBy("cache"), "revision 3 says so, with 0"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(testMapping.earlyAvailable(tc.versions, types.UID("cache"), 0, size, tc.count)).To(Equal(tc.early))
		})
	}
}
