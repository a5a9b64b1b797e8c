package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// recordStored records a status that is right, as if this process had written it, when it saw it first, and when others have changed
// its transition times again. An edit by others is then noticed.
func (w *lastWrites) recordStored(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) {
	if written := w.read(mc); written.resourceVersion == "" || !sameTimes(written.status, status, 0) {
		w.recordStatus(mc, status, mc.ResourceVersion)
	}
}

// timeTolerance returns how much transition times may differ from those that this process wrote: not at all, or by up to interval
// after it has put them back. A second operator that reports the same conditions has noticed them a moment earlier or later, and the
// two must not go on to put back each other's times.
func (w *lastWrites) timeTolerance(mc *cachev1alpha1.Memcached, now time.Time, interval time.Duration) time.Duration {
	if last := w.read(mc).timesRepairedAt; last.IsZero() || now.Sub(last) > 2*interval {
		return 0
	}
	return interval
}

// recordTimesRepaired records that only transition times were put back.
func (w *lastWrites) recordTimesRepaired(mc *cachev1alpha1.Memcached, now time.Time) {
	w.update(mc, func(r *record) { r.timesRepairedAt = now })
}

// reportedStatus returns the last status that this process wrote for mc, or else the cached one.
func (w *lastWrites) reportedStatus(mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedStatus {
	if written := w.read(mc); written.resourceVersion != "" {
		return written.status
	}
	return mc.Status
}

// isOwn reports whether a version of a Memcached, from the watch, is the one that this process wrote last.
func (w *lastWrites) isOwn(object client.Object) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found, isThere := w.records[client.ObjectKeyFromObject(object)]
	return isThere && found.uid == object.GetUID() && found.resourceVersion == object.GetResourceVersion()
}

// isEdited reports whether the status of mc, in a version from the watch, is not the one that this process wrote.
func (w *lastWrites) isEdited(mc *cachev1alpha1.Memcached) bool {
	written := w.read(mc)
	return written.resourceVersion != "" && (!sameStatus(written.status, mc.Status) || !sameTimes(written.status, mc.Status, 0))
}

// sameTimes reports whether the transition times of the operator's conditions differ by at most tolerance in two statuses, as far as
// both have them.
func sameTimes(a, b cachev1alpha1.MemcachedStatus, tolerance time.Duration) bool {
	return !slices.ContainsFunc(conditionTypes, func(conditionType string) bool {
		one, other := meta.FindStatusCondition(a.Conditions, conditionType), meta.FindStatusCondition(b.Conditions, conditionType)
		return one != nil && other != nil && one.LastTransitionTime.Sub(other.LastTransitionTime.Time).Abs() > tolerance
	})
}

// holdBackRepair returns how much longer a status that somebody else has edited waits before it is put back. The first time, it does
// not wait. If others keep editing it, the pause doubles, from the shortest to the longest one. Doubling takes a pause to start from.
func (w *lastWrites) holdBackRepair(mc *cachev1alpha1.Memcached, now time.Time, shortest, longest time.Duration) (rest time.Duration) {
	shortest = max(shortest, firstRetry)
	w.update(mc, func(r *record) {
		since := now.Sub(r.repairedAt)
		if rest = r.repairPause - since; rest > 0 {
			return
		}
		r.repairPause = min(max(2*r.repairPause, shortest), longest)
		if since > 2*longest {
			r.repairPause = shortest
		}
		r.repairedAt = now
	})
	return max(rest, 0)
}
