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
	w := newWorld(t, 3)
	w.reconciler.ProgressInterval = time.Hour
	expectWrites(t, w.reconcile(), createDeployment, patchStatus)
	w.controlDeployment()
	expectWrites(t, w.reconcile())
	for i := range 2 {
		w.setReady(i, corev1.ConditionTrue)
		expectWrites(t, w.reconcile())
		if w.recheck <= 0 || w.recheck > time.Hour {
			t.Errorf("called again after %s, want it within the interval", w.recheck)
		}
	}
	w.setReady(2, corev1.ConditionTrue)
	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, serving...)

	w.setReady(0, corev1.ConditionFalse)
	expectWrites(t, w.reconcile(), patchStatus)
	w.setReady(1, corev1.ConditionFalse)
	expectWrites(t, w.reconcile())
	// The change that was held back is undone, so the next progress starts a new interval.
	w.setReady(1, corev1.ConditionTrue)
	expectWrites(t, w.reconcile())
	if since := w.reconciler.lastWrites.read(w.memcached()).heldBackSince; !since.IsZero() {
		t.Errorf("something is held back since %s, want nothing", since)
	}

	// After the interval, it is written.
	w.setReady(1, corev1.ConditionFalse)
	expectWrites(t, w.reconcile())
	w.reconciler.lastWrites.update(w.memcached(), func(r *record) { r.heldBackSince = time.Now().Add(-time.Hour) })
	expectWrites(t, w.reconcile(), patchStatus)
	if nodes := w.memcached().Status.Nodes; len(nodes) != 1 {
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
