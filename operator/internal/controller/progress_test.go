package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Pods that become ready shortly after each other are one write, and a condition that changes does not wait.
func TestProgressIsHeldBack(t *testing.T) {
	f := newFakeCluster(t, 3)
	f.reconciler.ProgressInterval = time.Hour
	expectWrites(t, f.reconcile(), createDeployment, patchStatus)
	f.controlDeployment()
	expectWrites(t, f.reconcile())
	for i := range 2 {
		f.setReady(i, corev1.ConditionTrue)
		expectWrites(t, f.reconcile())
		if f.recheck <= 0 || f.recheck > time.Hour {
			t.Errorf("called again after %s, want it within the interval", f.recheck)
		}
	}
	f.setReady(2, corev1.ConditionTrue)
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, serving...)

	f.setReady(0, corev1.ConditionFalse)
	expectWrites(t, f.reconcile(), patchStatus)
	f.setReady(1, corev1.ConditionFalse)
	expectWrites(t, f.reconcile())
	// The change that was held back is undone, so the next progress starts a new interval.
	f.setReady(1, corev1.ConditionTrue)
	expectWrites(t, f.reconcile())
	if since := f.reconciler.lastWrites.read(f.memcached()).heldBackSince; !since.IsZero() {
		t.Errorf("something is held back since %s, want nothing", since)
	}

	// After the interval, it is written.
	f.setReady(1, corev1.ConditionFalse)
	expectWrites(t, f.reconcile())
	f.reconciler.lastWrites.update(f.memcached(), func(r *record) { r.heldBackSince = time.Now().Add(-time.Hour) })
	expectWrites(t, f.reconcile(), patchStatus)
	if nodes := f.memcached().Status.Nodes; len(nodes) != 1 {
		t.Errorf("nodes = %q, want the one that is ready", nodes)
	}
}

func TestIsMereProgress(t *testing.T) {
	status := func(change func(*cachev1alpha1.MemcachedStatus)) cachev1alpha1.MemcachedStatus {
		result, _ := computeStatus(testSnapshot(3, pod("a", ready)))
		change(&result)
		return result
	}
	before := status(func(*cachev1alpha1.MemcachedStatus) {})
	for name, test := range map[string]struct {
		change func(*cachev1alpha1.MemcachedStatus)
		want   bool
	}{
		"another pod": {func(s *cachev1alpha1.MemcachedStatus) {
			s.Nodes, s.ReadyReplicas, s.Conditions[0].Message = []string{"a", "b"}, 2, "2 of 3"
		}, true},
		"another status":             {func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, false},
		"another reason":             {func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[1].Reason = "Other" }, false},
		"another generation":         {func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[1].ObservedGeneration++ }, false},
		"another failure in words":   {func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[2].Message = "other" }, false},
		"a selector that was edited": {func(s *cachev1alpha1.MemcachedStatus) { s.Selector = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isMereProgress(before, status(test.change)); got != test.want {
				t.Errorf("isMereProgress = %t, want %t", got, test.want)
			}
		})
	}
	if isMereProgress(cachev1alpha1.MemcachedStatus{}, before) {
		t.Error("the first status is mere progress, want it to be written at once")
	}
}
