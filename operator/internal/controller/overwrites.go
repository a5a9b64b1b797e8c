package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// maxRepairs is how many times in a row the operator repairs the same field at once. If it differs again, another program keeps
// changing it, and both would go on as fast as they can. People who try out a change rarely repeat it as often.
const maxRepairs = 5

// maxDoublings is how often the pause between repairs doubles while another program keeps changing the field.
const maxDoublings = 3

const (
	// aPolicy is what changes fields before the API server stores them.
	aPolicy = "an admission webhook or policy"

	// aSecondOperator is what changes fields as the operator's own field manager. It may also be what removes a field.
	aSecondOperator = "another program, such as a second operator,"
)

// repairs are the last repairs of one Deployment: changes of fields that differed although the operator had set them.
type repairs struct {
	// generation and image are those that the Deployment was repaired for. With another of them, the count starts again.
	generation int64
	image      string
	// fields are those that the last repair was about, and those that something keeps changing, by their paths.
	fields map[string]repairedField
}

// repairedField is a field of a Deployment that the operator had to set again.
type repairedField struct {
	// count is how many times in a row it was repaired, and last is when that was.
	count int
	last  time.Time
	// overwrittenBy says what changes it again and again, or is empty if nothing does.
	overwrittenBy string
	// doublings is how often the pause between repairs has doubled.
	doublings int
}

// pause returns how long the operator waits between repairs of the field. If a policy undoes a repair, the repair only costs a write.
// Against another program, each repair may be a rollout, so the pause doubles.
func (f repairedField) pause(interval time.Duration) time.Duration { return interval << f.doublings }

// isDue reports whether the field may be repaired now.
func (f repairedField) isDue(now time.Time, interval time.Duration) bool {
	return f.overwrittenBy == "" || now.Sub(f.last) >= f.pause(interval)
}

// rightFor returns how long the field has to be right until that counts as the end of a contest. A second operator waits as long as this
// one before it sets its own value again.
func (f repairedField) rightFor(interval time.Duration) time.Duration {
	if f.overwrittenBy == aSecondOperator {
		return f.pause(interval) + interval
	}
	return interval
}

// next returns how long the operator waits before it looks at the field again.
func (f repairedField) next(now time.Time, interval time.Duration) time.Duration {
	next := time.Duration(0)
	for _, after := range []time.Duration{f.pause(interval), f.rightFor(interval)} {
		if rest := f.last.Add(after).Sub(now); rest > 0 && (next == 0 || rest < next) {
			next = rest
		}
	}
	return max(next, time.Millisecond)
}

// isContested reports whether the field, which by has changed, has been repaired too often already.
func (f repairedField) isContested(by string, now time.Time, interval time.Duration) bool {
	within := interval
	if by == aSecondOperator {
		within = longestPause(interval)
	}
	return f.count >= maxRepairs && now.Sub(f.last) <= within
}

// longestPause is longer than any pause of a second operator.
func longestPause(interval time.Duration) time.Duration { return interval<<maxDoublings + interval }

// overwrittenError is what ensureDeployment returns while something keeps changing fields that the operator sets.
type overwrittenError struct {
	paths    []string
	by       []string
	interval time.Duration
	// retry is how long the operator waits before it looks at the fields again, or repairs them.
	retry time.Duration
}

// Error returns a message for users, which stays the same while the cause does.
func (e *overwrittenError) Error() string {
	return fmt.Sprintf("the operator sets %s in the Deployment, and %s keeps changing it: keep that from changing this Deployment;"+
		" until then, the operator sets it at most once in %s", strings.Join(e.paths, ", "), strings.Join(e.by, ", and "), e.interval)
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
	result := &overwrittenError{interval: interval}
	for _, path := range slices.Sorted(maps.Keys(r.fields)) {
		field := r.fields[path]
		if field.overwrittenBy == "" {
			continue
		}
		if next := field.next(now, interval); result.paths == nil || next < result.retry {
			result.retry = next
		}
		result.paths = append(result.paths, path)
		if !slices.Contains(result.by, field.overwrittenBy) {
			result.by = append(result.by, field.overwrittenBy)
		}
	}
	if result.paths == nil {
		return nil
	}
	return result
}

// mayRepair reports whether fields that differ may be repaired now. If only such fields differ as something keeps changing, they have to
// wait.
func (r repairs) mayRepair(paths []string, now time.Time, interval time.Duration) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return r.fields[path].isDue(now, interval) })
}

// with returns the repairs with other values of fields.
func (r repairs) with(paths []string, change func(path string, field *repairedField)) repairs {
	r.fields = maps.Clone(r.fields)
	if r.fields == nil {
		r.fields = map[string]repairedField{}
	}
	for _, path := range paths {
		field := r.fields[path]
		change(path, &field)
		r.fields[path] = field
	}
	return r
}

// before returns the repairs when fields differ. by says what has changed one of them, which is reported if it has been repaired too
// often already.
func (r repairs) before(paths []string, by func(path string) string, now time.Time, interval time.Duration) repairs {
	return r.without(paths, now, interval).with(paths, func(path string, field *repairedField) {
		if by := by(path); field.overwrittenBy == "" && field.isContested(by, now, interval) {
			field.overwrittenBy = by
		}
	})
}

// after returns the repairs when fields that differed have been repaired. rewritten are the fields that differ nevertheless, because
// something changes them before they are stored.
func (r repairs) after(paths, rewritten []string, now time.Time, interval time.Duration) repairs {
	r.fields = maps.Clone(r.fields)
	maps.DeleteFunc(r.fields, func(path string, field repairedField) bool {
		return field.overwrittenBy == "" && !slices.Contains(paths, path)
	})
	return r.with(paths, func(_ string, field *repairedField) {
		if field.overwrittenBy != "" && field.overwrittenBy != aPolicy {
			field.doublings = min(field.doublings+1, maxDoublings)
		}
		switch passed := now.Sub(field.last); {
		case field.overwrittenBy == "" && passed > longestPause(interval):
			*field = repairedField{count: 1}
		case passed <= interval:
			field.count++
		}
		field.last = now
	}).with(rewritten, func(_ string, field *repairedField) {
		*field = repairedField{last: now, overwrittenBy: aPolicy}
	})
}

// without returns the repairs when no fields differ but those at the paths. What was changed again and again, and has been right for
// longer than the pause between repairs, is not reported any more.
func (r repairs) without(paths []string, now time.Time, interval time.Duration) repairs {
	var over []string
	for path, field := range r.fields {
		if field.overwrittenBy != "" && !slices.Contains(paths, path) && now.Sub(field.last) >= field.rightFor(interval) {
			over = append(over, path)
		}
	}
	if over == nil {
		return r
	}
	return r.with(over, func(_ string, field *repairedField) { field.overwrittenBy = "" })
}

// changedBy names the field managers that have changed fields of a Deployment. There are none if a field was removed, or if a program
// has the operator's own field manager.
func changedBy(managers []string) string {
	if len(managers) == 0 {
		return aSecondOperator
	}
	quoted := make([]string, len(managers))
	for i, manager := range managers {
		quoted[i] = fmt.Sprintf("%q", manager)
	}
	return "the field manager " + strings.Join(quoted, ", ")
}

// nothingDiffers records that the Deployment of mc is as desired. It returns an overwrittenError until that has been so for a while.
func (r *MemcachedReconciler) nothingDiffers(mc *cachev1alpha1.Memcached) error {
	if err := r.overwritten(mc); err == nil {
		return nil
	}
	r.lastWrites.recordRepairs(mc, r.lastWrites.lastRepairs(mc, r.Image).without(nil, time.Now(), r.RecheckInterval))
	return r.overwritten(mc)
}

// mayRepair reports whether fields of the Deployment of mc that differ may be repaired now.
func (r *MemcachedReconciler) mayRepair(mc *cachev1alpha1.Memcached, paths []string) bool {
	return r.lastWrites.lastRepairs(mc, r.Image).mayRepair(paths, time.Now(), r.RecheckInterval)
}

// checkRepair returns an overwrittenError if fields of the live Deployment of mc differ and have to wait, because something keeps
// changing them.
func (r *MemcachedReconciler) checkRepair(mc *cachev1alpha1.Memcached, paths []string, live *appsv1.Deployment) error {
	by := func(path string) string {
		return changedBy(ssa.Managers(live.ManagedFields, cachev1alpha1.FieldManager, []string{path}))
	}
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
