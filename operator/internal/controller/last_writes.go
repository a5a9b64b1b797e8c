package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// lastWrites holds what this process wrote for each Memcached. The cache shows a write only later, and a reconcile in between
// would otherwise repeat it. It also holds what need not be computed again (see comparison). It is safe for concurrent use, and its
// zero value is empty.
type lastWrites struct {
	mutex   sync.Mutex
	records map[types.NamespacedName]record
}

// record is what was written for one Memcached.
type record struct {
	uid types.UID
	// hasDeployment is whether a Deployment of its name was created, or was there already. If so, a cache without one may just be
	// behind.
	hasDeployment bool
	// status is the last status written, with the conditions of others, and resourceVersion is the Memcached's resource version
	// after that write.
	status          cachev1alpha1.MemcachedStatus
	resourceVersion string
	// unanswered is whether a status was sent after that, and nothing says whether it was stored.
	unanswered bool
	// heldBackSince is when progress was first noticed that is not written yet, or the zero time if there is none.
	heldBackSince time.Time
	// failingSince is when the first of several attempts in a row failed to write the Deployment, or the zero time if the last one
	// did not fail. Attempts that were refused do not count.
	failingSince time.Time
	// repairs are the last repairs of its Deployment.
	repairs repairs
	// repairedAt is when the status was last written only because somebody else had edited it, and repairPause is how long the
	// next such write waits after that.
	repairedAt  time.Time
	repairPause time.Duration
	// timesRepairedAt is when that was last only about transition times.
	timesRepairedAt time.Time
	// recheckAt is when it is reconciled again because of something that no event reports, or a time that has passed.
	recheckAt time.Time
	// asDesired is the last comparison in which its Deployment was as desired, and template is its last desired pod template.
	asDesired comparison
	template  template
	// awaited is whether this process saw the Memcached without a status, and it has not been Available since.
	awaited bool
}

// recordDeployment records that a Deployment was created for mc, or that there was one of its name.
func (w *lastWrites) recordDeployment(mc *cachev1alpha1.Memcached) {
	w.update(mc, func(r *record) { r.hasDeployment = true })
}

// hasDeployment reports whether a Deployment was created for mc, or one of its name was found.
func (w *lastWrites) hasDeployment(mc *cachev1alpha1.Memcached) bool {
	return w.read(mc).hasDeployment
}

// recordFailure records that an attempt to write the Deployment of mc has failed. It reports whether the failure lasts: the attempt
// before it failed as well, and the first one in a row at least grace ago.
func (w *lastWrites) recordFailure(mc *cachev1alpha1.Memcached, now time.Time, grace time.Duration) (lasts bool) {
	w.update(mc, func(r *record) {
		if r.failingSince.IsZero() {
			r.failingSince = now
			return
		}
		lasts = now.Sub(r.failingSince) >= grace
	})
	return lasts
}

// recordNoFailure records that the last attempt to write the Deployment of mc did not fail.
func (w *lastWrites) recordNoFailure(mc *cachev1alpha1.Memcached) {
	if !w.read(mc).failingSince.IsZero() {
		w.update(mc, func(r *record) { r.failingSince = time.Time{} })
	}
}

// recordRecheck records when mc is reconciled again because of something that no event reports.
func (w *lastWrites) recordRecheck(mc *cachev1alpha1.Memcached, at time.Time) {
	w.update(mc, func(r *record) { r.recheckAt = at })
}

// nextRecheck returns what recordRecheck has recorded, or the zero time.
func (w *lastWrites) nextRecheck(mc *cachev1alpha1.Memcached) time.Time {
	return w.read(mc).recheckAt
}

// recordRepairs records the last repairs of the Deployment of mc.
func (w *lastWrites) recordRepairs(mc *cachev1alpha1.Memcached, last repairs) {
	w.update(mc, func(r *record) { r.repairs = last })
}

// lastRepairs returns the last repairs of the Deployment of mc for its current spec and that image.
func (w *lastWrites) lastRepairs(mc *cachev1alpha1.Memcached, image string) repairs {
	return w.read(mc).repairs.current(mc, image)
}

// recordStatus records a status that was written, and the resource version of mc after the write.
func (w *lastWrites) recordStatus(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus, resourceVersion string) {
	w.update(mc, func(r *record) {
		r.status, r.resourceVersion, r.unanswered = status, resourceVersion, false
		r.heldBackSince = time.Time{}
	})
}

// recordUnanswered records that a status was sent for mc whose status was previous, and that nothing says whether it was stored.
func (w *lastWrites) recordUnanswered(mc *cachev1alpha1.Memcached, previous cachev1alpha1.MemcachedStatus) {
	w.update(mc, func(r *record) {
		r.unanswered = true
		r.awaited = r.awaited || len(previous.Conditions) == 0
	})
}

// isUnanswered reports whether the last status sent for mc may have been stored or not.
func (w *lastWrites) isUnanswered(mc *cachev1alpha1.Memcached) bool {
	return w.read(mc).unanswered
}

// holdBack returns how much longer mere progress of mc waits before it is written: the rest of the interval that started when the
// first of it was noticed.
func (w *lastWrites) holdBack(mc *cachev1alpha1.Memcached, now time.Time, interval time.Duration) (rest time.Duration) {
	w.update(mc, func(r *record) {
		if r.heldBackSince.IsZero() {
			r.heldBackSince = now
		}
		rest = interval - now.Sub(r.heldBackSince)
	})
	return max(rest, 0)
}

// nothingHeldBack records that the last status written for mc is up to date.
func (w *lastWrites) nothingHeldBack(mc *cachev1alpha1.Memcached) {
	if !w.read(mc).heldBackSince.IsZero() {
		w.update(mc, func(r *record) { r.heldBackSince = time.Time{} })
	}
}

// recordAvailability records whether mc has been Available, given its status before and after a write. It reports whether mc is
// Available for the first time since its creation. For a Memcached that had a status before this process started, it reports
// false.
func (w *lastWrites) recordAvailability(mc *cachev1alpha1.Memcached, previous, current cachev1alpha1.MemcachedStatus) (first bool) {
	w.update(mc, func(r *record) {
		awaited := r.awaited || len(previous.Conditions) == 0
		available := meta.IsStatusConditionTrue(current.Conditions, cachev1alpha1.ConditionAvailable)
		r.awaited, first = awaited && !available, awaited && available
	})
	return first
}

// lastStatus returns the newest known status of mc, which was read from the cache: the cached status, unless the cache has not
// caught up with the last write.
func (w *lastWrites) lastStatus(mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedStatus {
	written := w.read(mc)
	if age, err := resourceversion.CompareResourceVersion(mc.ResourceVersion, written.resourceVersion); err != nil || age >= 0 {
		return mc.Status
	}
	return written.status
}

// forget drops the record of a Memcached that is gone.
func (w *lastWrites) forget(name types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.records, name)
}

// read returns the record of mc, and ignores the record of an earlier Memcached with the same name.
func (w *lastWrites) read(mc *cachev1alpha1.Memcached) record {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.current(mc)
}

func (w *lastWrites) update(mc *cachev1alpha1.Memcached, change func(*record)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.records == nil {
		w.records = map[types.NamespacedName]record{}
	}
	updated := w.current(mc)
	change(&updated)
	w.records[nameOf(mc)] = updated
}

func (w *lastWrites) current(mc *cachev1alpha1.Memcached) record {
	if found := w.records[nameOf(mc)]; found.uid == mc.UID {
		return found
	}
	return record{uid: mc.UID}
}

func nameOf(mc *cachev1alpha1.Memcached) types.NamespacedName {
	return types.NamespacedName{Namespace: mc.Namespace, Name: mc.Name}
}
