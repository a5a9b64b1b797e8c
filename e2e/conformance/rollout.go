package conformance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// otherPort is what a rollout changes the port to.
const otherPort = 11333

// rolloutSize is for how many pods a Deployment's own defaults let none be missing in a rollout.
const rolloutSize = 3

func checkRolloutKeepsAvailable(ctx context.Context, s *scope) {
	object, since := s.rollout(ctx)
	s.barrier(ctx)
	if lost := s.mapping.lostAvailable(s.versions(ctx), object.GetUID(), since, rolloutSize); lost != "" {
		s.Fatalf("expected %s=True throughout, because %d pods were ready throughout; last seen: %s", s.mapping.Conditions.Available, rolloutSize, lost)
	}
}

func checkRolloutProgresses(ctx context.Context, s *scope) {
	object, since := s.rollout(ctx)
	s.expect().Condition(ctx, object, framework.Condition{Type: s.mapping.Conditions.Progressing, Status: metav1.ConditionFalse})
	if wrong := s.mapping.wrongProgress(s.versions(ctx), object.GetUID(), since); wrong != "" {
		s.Fatalf("expected %s=True until the last pod is replaced; last seen: %s", s.mapping.Conditions.Progressing, wrong)
	}
}

// rollout has a port of all pods changed, and returns when they have been replaced. It returns the revision of the change, too.
func (s *scope) rollout(ctx context.Context) (object *unstructured.Unstructured, since uint64) {
	object = s.create(ctx, "cache", rolloutSize)
	s.available(ctx, object, rolloutSize)
	s.change(ctx, object, func() { s.mapping.setPort(object, otherPort) })
	since = s.revision(object)
	s.listens(ctx, otherPort)
	s.sized(ctx, "cache", rolloutSize)
	return object, since
}

// lostAvailable describes the first version of the object after the revision that does not say Available although at least size
// pods have been ready all the time, or returns "".
func (m Mapping) lostAvailable(versions []record.Version, uid types.UID, since uint64, size int) string {
	for _, v := range versions {
		if v.Revision <= since {
			continue
		}
		if framework.ReadyPods(versions, v.Revision) < size {
			return "" // not a rollout that loses no pod: what it says from now on may be about that
		}
		if v.Object.GetUID() == uid && !framework.IsTrue(v.Object, m.Conditions.Available) {
			return fmt.Sprintf("revision %d does not say so", v.Revision)
		}
	}
	return ""
}

// wrongProgress describes how the versions of the object after the revision are wrong about a rollout to otherPort, or returns "".
func (m Mapping) wrongProgress(versions []record.Version, uid types.UID, since uint64) string {
	progressed := false
	for _, v := range record.Of(versions, uid) {
		conditions, _ := framework.ConditionsOf(v.Object)
		condition := meta.FindStatusCondition(conditions, m.Conditions.Progressing)
		if v.Revision <= since || condition == nil || condition.ObservedGeneration < v.Object.GetGeneration() {
			continue
		}
		if condition.Status == metav1.ConditionTrue {
			progressed = true
			continue
		}
		for _, pod := range record.Before(versions, "Pod", v.Revision) {
			if pod.GetDeletionTimestamp() == nil && !declares(pod, otherPort) {
				return fmt.Sprintf("revision %d says %s, and the pod %s is still as it was", v.Revision, condition.Status, pod.GetName())
			}
		}
	}
	if !progressed {
		return "no revision says so"
	}
	return ""
}

// declares reports whether a container of the pod declares the port.
func declares(pod *unstructured.Unstructured, port int64) bool {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		ports, _, _ := unstructured.NestedSlice(fields, "ports")
		for _, declared := range ports {
			if p, _ := declared.(map[string]any); p["containerPort"] == port {
				return true
			}
		}
	}
	return false
}
