package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework/record"
)

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

func TestLostAvailable(t *testing.T) {
	const since, size = 10, 1
	for name, tc := range map[string]struct {
		during []record.Version
		lost   string
	}{
		"kept":                          {[]record.Version{pod(11, "b", "True", 1), says(12, "Available", "True", 2), leaving(pod(13, "a", "True", 1)), says(14, "Available", "True", 2)}, ""},
		"lost without reason":           {[]record.Version{pod(11, "b", "True", 1), says(12, "Available", "False", 2)}, "revision 12 does not say so"},
		"left out":                      {[]record.Version{says(12, "Progressing", "True", 2)}, "revision 12 does not say so"},
		"lost with a pod":               {[]record.Version{gone(pod(11, "a", "True", 1)), says(12, "Available", "False", 2), pod(13, "b", "True", 1)}, ""},
		"lost after a pod was replaced": {[]record.Version{gone(pod(11, "a", "True", 1)), pod(12, "b", "True", 1), says(13, "Available", "False", 2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			versions := append([]record.Version{says(1, "Available", "False", 1), pod(2, "a", "True", 1), says(3, "Available", "True", 1)}, tc.during...)
			NewWithT(t).Expect(lostAvailable(versions, "cache", since, size, "Available")).To(Equal(tc.lost))
		})
	}
}

func TestWrongProgress(t *testing.T) {
	const since, port, otherPort = 10, 11211, 11333
	before := []record.Version{pod(1, "a", "True", port), says(2, "Progressing", "False", 1)}
	begins, replaced, ends := says(11, "Progressing", "True", 2), gone(pod(13, "a", "True", port)), says(14, "Progressing", "False", 2)
	for name, tc := range map[string]struct {
		during []record.Version
		wrong  string
	}{
		"right":                    {[]record.Version{begins, pod(12, "b", "True", otherPort), replaced, ends}, ""},
		"never":                    {[]record.Version{pod(12, "b", "True", otherPort), replaced, ends}, "no revision says so"},
		"ends too early":           {[]record.Version{begins, says(12, "Progressing", "False", 2), replaced}, "revision 12 says False, and the pod a is still as it was"},
		"of an earlier one":        {[]record.Version{says(11, "Progressing", "False", 1), says(12, "Progressing", "True", 2), replaced, ends}, ""},
		"ends while the last go":   {[]record.Version{begins, leaving(pod(12, "a", "True", port)), ends}, ""},
		"without such a condition": {[]record.Version{says(11, "Available", "True", 2)}, "no revision says so"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(wrongProgress(append(before, tc.during...), "cache", otherPort, since, "Progressing")).To(Equal(tc.wrong))
		})
	}
}
