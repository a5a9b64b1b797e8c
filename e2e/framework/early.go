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

// Claim is a version of an object whose status claims that all its pods are ready.
type Claim struct {
	// Revision is the revision of the version.
	Revision uint64
	// Size is the number of pods that the object requests.
	Size int
	// Ready is the number of pods that were ready just before the revision, according to each count that was passed to [Early].
	Ready []int
}

// String returns the claim as text for a message.
func (c Claim) String() string {
	return fmt.Sprintf("revision %d says so: of %d pods, %d were ready", c.Revision, c.Size, c.Ready)
}

// Early returns the versions of the object with that UID whose status claims too early that the condition, such as "Available", is True:
// just before, according to one of the counts, fewer pods were ready than the object's size. size is the path of the field with the size,
// such as "spec.size"; its value in the generation that the condition describes counts. Versions that repeat the previous status are left
// out, because the API server stores one whenever the spec changes.
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

// Count returns how many pods were ready just before a revision. [ReadyPods] and [CountedBy] are counts.
type Count func(versions []record.Version, revision uint64) int

// ReadyPods is the [Count] that counts pods that are ready and not being deleted.
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

// CountedBy returns the [Count] that reads status.readyReplicas of the Deployment of that name.
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

// ReadyReplicas returns status.readyReplicas of a Deployment, or zero if it is not set.
func ReadyReplicas(deployment *unstructured.Unstructured) int {
	ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return int(ready)
}
