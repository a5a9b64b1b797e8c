package memcached

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// lie is a version of a Memcached whose status says Available=True against what the API server had stored before.
type lie struct {
	revision    uint64
	size, ready int
}

func describeLies(lies []lie) string {
	var b strings.Builder
	for _, l := range lies {
		fmt.Fprintf(&b, "  revision %d says Available=True: %d of %d pods had been ready\n", l.revision, l.ready, l.size)
	}
	return b.String()
}

// truthful fails the test if the Memcached ever said Available=True too early.
func truthful(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached) {
	t.Helper()
	if lies := falseAvailable(s.Versions(ctx, t), mc.UID); len(lies) > 0 {
		t.Fatalf("Memcached %s: expected no untrue Available=True; last seen:\n%s", mc.Name, describeLies(lies))
	}
}

// falseAvailable returns the versions of a Memcached that say Available=True although fewer pods of it than its size were
// ready just before. Only the versions in which the status changed count: the API server repeats an old status when somebody
// changes the spec, and observedGeneration tells so.
func falseAvailable(versions []history.Version, uid types.UID) []lie {
	var lies []lie
	before := ""
	for _, v := range history.Of(versions, uid) {
		status := fmt.Sprint(v.Object.Object["status"])
		written := status != before
		before = status
		if v.Deleted || !written || !saysAvailable(v.Object) {
			continue
		}
		size, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "size")
		if ready := readyPods(history.Before(versions, "Pod", v.Revision), uid); ready < int(size) {
			lies = append(lies, lie{revision: v.Revision, size: int(size), ready: ready})
		}
	}
	return lies
}

func saysAvailable(object *unstructured.Unstructured) bool {
	conditions, err := expect.ConditionsOf(object)
	return err == nil && meta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionAvailable)
}

// readyPods counts the pods that carry the Memcached's UID, are ready and not on their way out.
func readyPods(pods []*unstructured.Unstructured, uid types.UID) int {
	ready := 0
	for _, pod := range pods {
		if pod.GetLabels()[cachev1alpha1.LabelMemcachedUID] != string(uid) || pod.GetDeletionTimestamp() != nil {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
				ready++
			}
		}
	}
	return ready
}

func TestFalseAvailable(t *testing.T) {
	const uid = "m1"
	cr := func(revision uint64, size int64, available metav1.ConditionStatus, nodes int64) history.Version {
		object := &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Memcached",
			"metadata": map[string]any{"uid": uid},
			"spec":     map[string]any{"size": size},
			"status": map[string]any{
				"readyReplicas": nodes,
				"conditions":    []any{map[string]any{"type": "Available", "status": string(available)}},
			},
		}}
		return history.Version{Revision: revision, Object: object}
	}
	pod := func(revision uint64, name string, ready string) history.Version {
		return history.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Pod",
			"metadata": map[string]any{"uid": name, "name": name, "labels": map[string]any{cachev1alpha1.LabelMemcachedUID: uid}},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}}}
	}
	for name, tc := range map[string]struct {
		versions []history.Version
		lies     int
	}{
		"true":                        {[]history.Version{pod(1, "a", "True"), pod(2, "b", "True"), cr(3, 2, "True", 2)}, 0},
		"a pod is missing":            {[]history.Version{pod(1, "a", "True"), cr(3, 2, "True", 1)}, 1},
		"a pod is not ready":          {[]history.Version{pod(1, "a", "True"), pod(2, "b", "False"), cr(3, 2, "True", 1)}, 1},
		"a pod gets ready too late":   {[]history.Version{pod(1, "a", "True"), cr(3, 2, "True", 1), pod(4, "b", "True")}, 1},
		"says False":                  {[]history.Version{cr(3, 2, "False", 0)}, 0},
		"an old status, another size": {[]history.Version{pod(1, "a", "True"), cr(3, 1, "True", 1), cr(4, 5, "True", 1)}, 0},
		"written again after a loss":  {[]history.Version{pod(1, "a", "True"), cr(3, 1, "True", 1), pod(4, "a", "False"), cr(5, 1, "True", 0)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(falseAvailable(tc.versions, uid)).To(HaveLen(tc.lies))
		})
	}
}
