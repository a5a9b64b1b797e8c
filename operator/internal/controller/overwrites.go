package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// maxRepairs is how many times in a row the operator repairs the same fields at once. If they differ again, another program keeps
// changing them, and both would go on as fast as they can. People who try out a change rarely repeat it as often.
const maxRepairs = 5

// repairs are the last repairs of one Deployment: changes of fields that differed although the operator had set them.
type repairs struct {
	// generation and image are those that the Deployment was repaired for. With another of them, the count starts again.
	generation int64
	image      string
	// paths are the fields that have differed each time, count is how many times in a row, and last is when they were last repaired.
	paths []string
	count int
	last  time.Time
	// overwrittenBy says what changes the fields again and again, or is empty if nothing does.
	overwrittenBy string
}

// overwrittenError is what ensureDeployment returns while something keeps changing fields that the operator sets.
type overwrittenError struct {
	paths    []string
	by       string
	interval time.Duration
	// retry is how long the operator waits before it looks at the fields again, or repairs them.
	retry time.Duration
}

// Error returns a message for users, which stays the same while the cause does.
func (e *overwrittenError) Error() string {
	return fmt.Sprintf("the operator sets %s in the Deployment, and %s keeps changing it: keep that from changing this Deployment;"+
		" until then, the operator sets it once in %s", strings.Join(e.paths, ", "), e.by, e.interval)
}

// isOverwritten reports whether the error is an overwrittenError.
func isOverwritten(err error) bool {
	overwritten := new(overwrittenError)
	return errors.As(err, &overwritten)
}

// current returns the repairs, or none if they were for another spec or another image.
func (r repairs) current(mc *cachev1alpha1.Memcached, image string) repairs {
	if r.generation != mc.Generation || r.image != image {
		return repairs{generation: mc.Generation, image: image}
	}
	return r
}

// err returns what is to be reported, or nil if nothing is.
func (r repairs) err(now time.Time, interval time.Duration) error {
	if r.overwrittenBy == "" {
		return nil
	}
	return &overwrittenError{paths: r.paths, by: r.overwrittenBy, interval: interval, retry: max(r.last.Add(interval).Sub(now), time.Millisecond)}
}

// mayRepair reports whether fields that differ may be repaired now. Those that something keeps changing have to wait.
func (r repairs) mayRepair(paths []string, now time.Time, interval time.Duration) bool {
	return r.overwrittenBy == "" || !isSubset(paths, r.paths) || now.Sub(r.last) >= interval
}

// before returns the repairs when fields differ. by says what has changed them, which is reported if they have been repaired too
// often already.
func (r repairs) before(paths []string, by string, now time.Time, interval time.Duration) repairs {
	if r.overwrittenBy == "" && r.count >= maxRepairs && r.continues(paths, now, interval) {
		r.paths, r.overwrittenBy = intersection(r.paths, paths), by
	}
	return r
}

// after returns the repairs when fields that differed have been repaired. rewritten are the fields that differ nevertheless, because
// something changes them before they are stored.
func (r repairs) after(paths, rewritten []string, now time.Time, interval time.Duration) repairs {
	switch {
	case len(rewritten) > 0:
		r.paths, r.last, r.overwrittenBy = rewritten, now, "an admission webhook or policy"
	case r.overwrittenBy != "":
		if len(intersection(r.paths, paths)) > 0 {
			r.last = now
		}
	case r.continues(paths, now, interval):
		r.paths, r.last = intersection(r.paths, paths), now
		r.count++
	default:
		r.paths, r.last, r.count = paths, now, 1
	}
	return r
}

// continues reports whether some of the fields that differ now are among those that were last repaired, not long ago.
func (r repairs) continues(paths []string, now time.Time, interval time.Duration) bool {
	return len(intersection(r.paths, paths)) > 0 && now.Sub(r.last) <= interval
}

// without returns the repairs when no field differs.
func (r repairs) without(now time.Time, interval time.Duration) repairs {
	if r.overwrittenBy != "" && now.Sub(r.last) >= interval {
		return repairs{generation: r.generation, image: r.image}
	}
	return r
}

func isSubset(paths, of []string) bool { return len(intersection(of, paths)) == len(paths) }

// intersection returns the elements of a that b has, too.
func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(path string) bool { return !slices.Contains(b, path) })
}

// changedBy names the field managers that have changed fields of a Deployment. There are none if a field was removed, or if a program
// has the operator's own field manager.
func changedBy(managers []string) string {
	if len(managers) == 0 {
		return "another program, such as a second operator,"
	}
	quoted := make([]string, len(managers))
	for i, manager := range managers {
		quoted[i] = fmt.Sprintf("%q", manager)
	}
	return "the field manager " + strings.Join(quoted, ", ")
}

// nothingDiffers records that the Deployment of mc is as desired. It returns an overwrittenError until that has been so for a while.
func (r *MemcachedReconciler) nothingDiffers(mc *cachev1alpha1.Memcached) error {
	if last := r.lastWrites.lastRepairs(mc, r.Image); last.overwrittenBy != "" {
		r.lastWrites.recordRepairs(mc, last.without(time.Now(), r.RecheckInterval))
	}
	return r.overwritten(mc)
}

// mayRepair reports whether fields of the Deployment of mc that differ may be repaired now.
func (r *MemcachedReconciler) mayRepair(mc *cachev1alpha1.Memcached, paths []string) bool {
	return r.lastWrites.lastRepairs(mc, r.Image).mayRepair(paths, time.Now(), r.RecheckInterval)
}

// checkRepair returns an overwrittenError if fields of the live Deployment of mc differ and have to wait, because something keeps
// changing them.
func (r *MemcachedReconciler) checkRepair(mc *cachev1alpha1.Memcached, paths []string, live *appsv1.Deployment) error {
	by := changedBy(ssa.Managers(live.ManagedFields, cachev1alpha1.FieldManager, paths))
	last := r.lastWrites.lastRepairs(mc, r.Image).before(paths, by, time.Now(), r.RecheckInterval)
	r.lastWrites.recordRepairs(mc, last)
	if last.mayRepair(paths, time.Now(), r.RecheckInterval) {
		return nil
	}
	return r.overwritten(mc)
}

// recordRepair records that fields of the Deployment of mc have been repaired. It returns an overwrittenError if fields differ
// nevertheless, or if something keeps changing them.
func (r *MemcachedReconciler) recordRepair(mc *cachev1alpha1.Memcached, paths, rewritten []string) error {
	last := r.lastWrites.lastRepairs(mc, r.Image).after(paths, rewritten, time.Now(), r.RecheckInterval)
	r.lastWrites.recordRepairs(mc, last)
	return r.overwritten(mc)
}

// overwritten returns an overwrittenError if something keeps changing the Deployment of mc.
func (r *MemcachedReconciler) overwritten(mc *cachev1alpha1.Memcached) error {
	return r.lastWrites.lastRepairs(mc, r.Image).err(time.Now(), r.RecheckInterval)
}
