package framework

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework/record"
)

// Claim is a version of an object whose status says that as many pods are ready as it asks for.
type Claim struct {
	Revision uint64
	Size     int
	// Ready is how many were ready just before, by each count.
	Ready []int
}

func (c Claim) String() string {
	return fmt.Sprintf("revision %d says so: of %d pods, %d were ready", c.Revision, c.Size, c.Ready)
}

// Early returns the versions of an object whose status was written to say that the condition is True although just before, by one
// of the counts, fewer pods were ready than its size, a field such as spec.size. Versions that repeat a status do not count: the API
// server does so when somebody changes the spec. The size is that of the generation that the condition is about.
func Early(versions []record.Version, uid types.UID, condition, size string, counts ...Count) []Claim {
	var early []Claim
	before := ""
	sizes := map[int64]int64{}
	for _, v := range record.Of(versions, uid) {
		asked, _, _ := unstructured.NestedInt64(v.Object.Object, strings.Split(size, ".")...)
		sizes[v.Object.GetGeneration()] = asked
		sizes[0] = asked // for a condition without observedGeneration
		status := fmt.Sprint(v.Object.Object["status"])
		written := status != before
		before = status
		conditions, _ := ConditionsOf(v.Object)
		if v.Deleted || !written || !meta.IsStatusConditionTrue(conditions, condition) {
			continue
		}
		claim := Claim{Revision: v.Revision, Size: int(sizes[meta.FindStatusCondition(conditions, condition).ObservedGeneration])}
		for _, count := range counts {
			claim.Ready = append(claim.Ready, count(versions, v.Revision))
		}
		if slices.Min(claim.Ready) < claim.Size {
			early = append(early, claim)
		}
	}
	return early
}

// Count returns how many pods were ready just before a revision.
type Count func(versions []record.Version, revision uint64) int

// ReadyPods counts the pods themselves.
func ReadyPods(versions []record.Version, revision uint64) int {
	ready := 0
	for _, pod := range record.Before(versions, "Pod", revision) {
		if IsReady(pod) {
			ready++
		}
	}
	return ready
}

// IsReady reports whether a pod is ready and not being deleted.
func IsReady(pod *unstructured.Unstructured) bool {
	return pod.GetDeletionTimestamp() == nil && IsTrue(pod, string(corev1.PodReady))
}

// CountedBy returns what the Deployment of that name counts.
func CountedBy(name string) Count {
	return func(versions []record.Version, revision uint64) int {
		for _, deployment := range record.Before(versions, "Deployment", revision) {
			if deployment.GetName() == name {
				return ReadyReplicas(deployment)
			}
		}
		return 0
	}
}

// ReadyReplicas returns how many ready pods a Deployment counts.
func ReadyReplicas(deployment *unstructured.Unstructured) int {
	ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return int(ready)
}
