package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// rolloutSize is for how many pods a Deployment's own defaults let none be missing in a rollout.
const rolloutSize = 3

// RolloutKeepsAvailable checks that an object stays available while its pods are replaced one by one.
func (c Checks) RolloutKeepsAvailable(ctx context.Context, s *framework.Scope) {
	object, since := c.rollout(ctx, s, "kept", s.Port())
	c.Barrier(ctx, s)
	size, available := int(c.Describe().within(rolloutSize)), c.Describe().Conditions.Available
	if lost := lostAvailable(c.versions(ctx, s, object), object.GetUID(), since, size, available); lost != "" {
		s.Fatalf("expected %s=True throughout, because %d pods were ready throughout; last seen: %s", available, size, lost)
	}
}

// RolloutProgresses checks that an object reports a rollout until it is complete.
func (c Checks) RolloutProgresses(ctx context.Context, s *framework.Scope) {
	port := s.Port()
	object, since := c.rollout(ctx, s, "replaced", port)
	progressing := c.Describe().Conditions.Progressing
	framework.WaitForConditions(ctx, s, object, framework.Condition{Type: progressing, Status: metav1.ConditionFalse})
	if wrong := wrongProgress(c.versions(ctx, s, object), object.GetUID(), port, since, progressing); wrong != "" {
		s.Fatalf("expected %s=True until the last pod is replaced; last seen: %s", progressing, wrong)
	}
}

// rollout has the port of all pods changed, and returns when they have been replaced. It returns the revision of the change, too. Each
// simulated pod takes half a second until it is ready, as real ones do, so that no rollout is over before an operator on a busy
// machine can report it.
func (c Checks) rollout(ctx context.Context, s *framework.Scope, prefix string, port int32) (object client.Object, since uint64) {
	size := c.Describe().within(rolloutSize)
	object = c.created(ctx, s, prefix, size)
	patch(ctx, s, c.deployment(object), `{"spec":{"template":{"metadata":{"annotations":{"testbed.example.com/ready-after":"500ms"}}}}}`)
	c.waitForSize(ctx, s, object, size)
	change(ctx, s, object, func() { c.SetPort(object, port) })
	since = revision(s, object)
	c.waitForPort(ctx, s, object, port)
	c.waitForSize(ctx, s, object, size)
	return object, since
}

// lostAvailable describes the first version of the object after the revision that does not say that it is available although at least
// size pods have been ready all the time, or returns "".
func lostAvailable(versions []record.Version, uid types.UID, since uint64, size int, available string) string {
	for _, v := range versions {
		if v.Revision <= since {
			continue
		}
		if framework.ReadyPods(versions, v.Revision) < size {
			return "" // not a rollout that loses no pod: what it says from now on may be about that
		}
		if v.Object.GetUID() == uid && !framework.IsTrue(v.Object, available) {
			return fmt.Sprintf("revision %d does not say so", v.Revision)
		}
	}
	return ""
}

// wrongProgress describes how the versions of the object after the revision are wrong about a rollout to the port, or returns "".
func wrongProgress(versions []record.Version, uid types.UID, port int32, since uint64, progressing string) string {
	progressed := false
	for _, v := range record.Of(versions, uid) {
		conditions, _ := framework.ConditionsOf(v.Object)
		condition := meta.FindStatusCondition(conditions, progressing)
		if v.Revision <= since || condition == nil || condition.ObservedGeneration < v.Object.GetGeneration() {
			continue
		}
		if condition.Status == metav1.ConditionTrue {
			progressed = true
			continue
		}
		for _, pod := range record.Before(versions, "Pod", v.Revision) {
			if pod.GetDeletionTimestamp() == nil && !declares(pod, port) {
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
func declares(pod *unstructured.Unstructured, port int32) bool {
	typed := &corev1.Pod{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod.Object, typed)
	return err == nil && slices.ContainsFunc(typed.Spec.Containers, func(container corev1.Container) bool {
		return slices.ContainsFunc(container.Ports, func(declared corev1.ContainerPort) bool { return declared.ContainerPort == port })
	})
}
