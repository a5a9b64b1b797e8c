package controller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The durations of a reconciler. No two are alike, and none is a default.
const (
	ownRecheck  = 7 * time.Minute
	ownDeadline = 11 * time.Minute
	ownProgress = 13 * time.Second
	ownGrace    = 5 * time.Second
)

// withDurations runs a test with a cluster of one Memcached, whose clock stands still unless the test waits.
func withDurations(t *testing.T, size int32, test func(t *testing.T, f *fakeCluster)) {
	t.Helper()
	typeConverters() // which would be part of the bubble
	restMapper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCluster(t, size)
		r := f.reconciler
		r.RecheckInterval, r.ProgressDeadline, r.ProgressInterval, r.FailureGrace = ownRecheck, ownDeadline, ownProgress, ownGrace
		test(t, f)
	})
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// Each duration takes effect at its own instant, not earlier and not later.
func TestDurationsTakeEffect(t *testing.T) {
	t.Run("the progress deadline", func(t *testing.T) {
		withDurations(t, 2, func(t *testing.T, f *fakeCluster) {
			f.reconcile()
			if f.recheck != ownDeadline {
				t.Errorf("called again after %s, want %s", f.recheck, ownDeadline)
			}
			pass(ownDeadline - time.Second)
			expectWrites(t, f.reconcile())
			pass(time.Second)
			expectWrites(t, f.reconcile(), patchStatus)
			expectConditions(t, f, overdue("ProgressDeadlineExceeded")...)
			if f.recheck != ownRecheck {
				t.Errorf("called again after %s, want %s: what the pods show may change", f.recheck, ownRecheck)
			}
		})
	})
	t.Run("the interval of progress", func(t *testing.T) {
		withDurations(t, 3, func(t *testing.T, f *fakeCluster) {
			f.reconcile()
			f.controlDeployment()
			f.setReady(0, corev1.ConditionTrue)
			expectWrites(t, f.reconcile())
			if f.recheck != ownProgress {
				t.Errorf("called again after %s, want %s", f.recheck, ownProgress)
			}
			pass(ownProgress - time.Nanosecond)
			expectWrites(t, f.reconcile())
			pass(time.Nanosecond)
			expectWrites(t, f.reconcile(), patchStatus)
		})
	})
	t.Run("the grace of a failure", func(t *testing.T) {
		withDurations(t, 1, func(t *testing.T, f *fakeCluster) {
			f.reconcile()
			f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			f.fail = func(write string, after bool) error {
				if write == patchStatus || after {
					return nil
				}
				return apierrors.NewInternalError(errors.New("a webhook does not respond"))
			}
			degraded := func() bool {
				t.Helper()
				if err := f.reconcileOnce(); err == nil {
					t.Fatal("the failure is not returned, so it would not be retried")
				}
				return meta.IsStatusConditionTrue(f.memcached().Status.Conditions, cachev1alpha1.ConditionDegraded)
			}
			for _, step := range []struct {
				wait time.Duration
				want bool
			}{{0, false}, {ownGrace - time.Nanosecond, false}, {time.Nanosecond, true}} {
				pass(step.wait)
				if got := degraded(); got != step.want {
					t.Errorf("%s later, it is reported: %t, want %t", step.wait, got, step.want)
				}
			}
		})
	})
	t.Run("the time between checks of a foreign Deployment", func(t *testing.T) {
		withDurations(t, 1, func(t *testing.T, f *fakeCluster) {
			f.reconcile()
			f.updateDeployment(func(deployment *appsv1.Deployment) { deployment.OwnerReferences[0].UID = "another" })
			f.reconcile()
			if f.recheck != ownRecheck {
				t.Errorf("called again after %s, want %s", f.recheck, ownRecheck)
			}
		})
	})
}
