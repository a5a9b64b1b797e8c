package controller

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// editStatus changes the stored status as somebody else does, and reports whether the operator's watch calls the reconciler for it.
func (f *fakeCluster) editStatus(edit func(*cachev1alpha1.MemcachedStatus)) bool {
	f.t.Helper()
	before := f.memcached()
	after := before.DeepCopy()
	edit(&after.Status)
	if err := f.api.Status().Update(f.t.Context(), after, client.FieldOwner("somebody-else")); err != nil {
		f.t.Fatal(err)
	}
	return f.reconciler.isRelevantMemcached(event.UpdateEvent{ObjectOld: before, ObjectNew: f.memcached()})
}

// What the operator reports in the status is put back when somebody edits it.
func TestEditedStatusIsPutBack(t *testing.T) {
	for name, edit := range map[string]func(*cachev1alpha1.MemcachedStatus){
		"nodes":           func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = []string{"ghost"} },
		"no nodes":        func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = nil },
		"replicas":        func(s *cachev1alpha1.MemcachedStatus) { s.Replicas = 0 },
		"readyReplicas":   func(s *cachev1alpha1.MemcachedStatus) { s.ReadyReplicas = 99 },
		"selector":        func(s *cachev1alpha1.MemcachedStatus) { s.Selector = "a=b" },
		"a reason":        func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].Reason = "Other" },
		"a status":        func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[2].Status = metav1.ConditionTrue },
		"a message":       func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[1].Message = "All is well." },
		"a generation":    func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].ObservedGeneration = 7 },
		"a time":          func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].LastTransitionTime = metav1.Unix(1000, 0) },
		"a condition":     func(s *cachev1alpha1.MemcachedStatus) { s.Conditions = s.Conditions[1:] },
		"the conditions":  func(s *cachev1alpha1.MemcachedStatus) { s.Conditions = nil },
		"the whole of it": func(s *cachev1alpha1.MemcachedStatus) { *s = cachev1alpha1.MemcachedStatus{} },
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " after a restart"}[restarted], func(t *testing.T) {
				f := newFakeCluster(t, 2)
				f.start()
				want := f.memcached().Status
				if restarted {
					f.restartOperator(testImage)
					expectWrites(t, f.reconcile())
				}
				if !f.editStatus(edit) {
					t.Error("the reconciler is not called")
				}
				expectWrites(t, f.reconcile(), patchStatus)
				if diff := cmp.Diff(withoutTimes(want), withoutTimes(f.memcached().Status)); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				for _, condition := range f.memcached().Status.Conditions {
					for _, before := range want.Conditions {
						if condition.Type == before.Type && !condition.LastTransitionTime.Equal(&before.LastTransitionTime) {
							t.Errorf("%s has changed at %s, want %s", condition.Type, condition.LastTransitionTime, before.LastTransitionTime)
						}
					}
				}
				expectEvents(t, f)
				expectWrites(t, f.reconcile())
			})
		}
	}
}

// The operator's own writes, and conditions of others, do not call the reconciler.
func TestOwnStatusIsNoEdit(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	before := f.memcached()
	f.setReady(0, "False")
	f.reconcile()
	if f.reconciler.isRelevantMemcached(event.UpdateEvent{ObjectOld: before, ObjectNew: f.memcached()}) {
		t.Error("the operator's own write calls the reconciler")
	}
	if f.editStatus(audited) {
		t.Error("a condition of somebody else calls the reconciler")
	}
}

// audited adds a condition that is not the operator's, in front of all others.
func audited(s *cachev1alpha1.MemcachedStatus) {
	s.Conditions = slices.Insert(s.Conditions, 0, metav1.Condition{
		Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly", LastTransitionTime: metav1.Unix(1000, 0),
	})
}

// Conditions of others survive, also those that the operator's cache does not have yet.
func TestForeignConditionsSurvive(t *testing.T) {
	for name, cached := range map[string]bool{"that are cached": true, "that are not cached yet": false} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 2)
			f.start()
			if !cached {
				f.stale = f.memcached()
			}
			f.editStatus(func(s *cachev1alpha1.MemcachedStatus) {
				audited(s)
				if !cached {
					s.Conditions = append(s.Conditions[1:], s.Conditions[0]) // added at the end, as by a server-side apply
				}
			})
			f.setReady(0, "False")
			f.reconcile()
			f.stale = nil
			f.reconcile()
			status := f.memcached().Status
			if i := slices.IndexFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == "Audited" && c.Reason == "Weekly" }); i < 0 {
				t.Errorf("conditions %+v, want the one of somebody else, too", status.Conditions)
			}
			expectContains(t, conditionStrings(status), "Available=False/ReplicasNotReady")
			if len(status.Conditions) != 4 {
				t.Errorf("%d conditions, want 4", len(status.Conditions))
			}
		})
	}
}

func expectContains(t *testing.T, all []string, want string) {
	t.Helper()
	if !slices.Contains(all, want) {
		t.Errorf("%q, want %q among them", all, want)
	}
}

// If others have moved the conditions since the cache was filled, the patch is refused instead of overwriting one of theirs.
func TestMovedConditionsAreNotOverwritten(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.stale = f.memcached()
	f.editStatus(audited)
	f.setReady(0, "False")
	if err := f.reconcileOnce(); err == nil {
		t.Error("no error, want another attempt")
	}
	f.stale = nil
	f.reconcile()
	if conditions := f.memcached().Status.Conditions; conditions[0].Type != "Audited" || len(conditions) != 4 {
		t.Errorf("conditions %+v, want the one of somebody else first", conditions)
	}
}

// Somebody who keeps editing the status does not keep the operator busy.
func TestRepeatedEditsArePutBackLessAndLessOften(t *testing.T) {
	var w lastWrites
	mc, now := testMemcached(1), time.Unix(10_000, 0)
	var pauses []time.Duration
	for range 5 {
		if rest := w.holdBackRepair(mc, now, time.Second, 5*time.Second); rest != 0 {
			t.Fatalf("waits for %s more, want none", rest)
		}
		pause := w.holdBackRepair(mc, now, time.Second, 5*time.Second)
		pauses = append(pauses, pause)
		now = now.Add(pause)
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %s, want %s", pauses, want)
	}
	now = now.Add(time.Minute)
	if rest := w.holdBackRepair(mc, now, time.Second, 5*time.Second); rest != 0 {
		t.Errorf("waits for %s after a quiet minute, want none", rest)
	}
	if pause := w.holdBackRepair(mc, now, time.Second, 5*time.Second); pause != time.Second {
		t.Errorf("waits for %s after that, want the shortest pause", pause)
	}
}

// The same holds where progress is written at once.
func TestRepeatedEditsAreHeldBackWithoutAProgressInterval(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		ghost := func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = []string{"ghost"} }
		f.editStatus(ghost)
		expectWrites(t, f.reconcile(), patchStatus)
		f.editStatus(ghost)
		expectWrites(t, f.reconcile())
		if f.recheck != firstRetry {
			t.Errorf("the operator puts it back after %s, want %s", f.recheck, firstRetry)
		}
	})
}

// A second operator reports the same at another moment. The two do not go on to put back each other's transition times.
func TestTransitionTimesOfASecondOperatorAreTaken(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		later := func(s *cachev1alpha1.MemcachedStatus) {
			s.Conditions[0].LastTransitionTime.Time = s.Conditions[0].LastTransitionTime.Add(time.Second)
		}
		f.editStatus(later)
		expectWrites(t, f.reconcile(), patchStatus)
		<-time.After(testRecheck)
		f.editStatus(later)
		expectWrites(t, f.reconcile())
		if f.editStatus(func(*cachev1alpha1.MemcachedStatus) {}) {
			t.Error("the times that were taken count as an edit")
		}
		f.editStatus(func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].LastTransitionTime = metav1.Unix(1000, 0) })
		expectWrites(t, f.reconcile(), patchStatus)
		<-time.After(3 * testRecheck)
		f.editStatus(later)
		expectWrites(t, f.reconcile(), patchStatus)
	})
}

// The first status is written as a whole, with its zero values.
func TestFirstStatusHasItsZeros(t *testing.T) {
	patch, err := statusPatch(testMemcached(1), cachev1alpha1.MemcachedStatus{}, cachev1alpha1.MemcachedStatus{Selector: "a=b"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := patch.Data(nil)
	if err != nil {
		t.Fatal(err)
	}
	var operations []struct {
		Path  string
		Value any
	}
	if err := json.Unmarshal(text, &operations); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"replicas": 0.0, "readyReplicas": 0.0, "selector": "a=b"}
	if diff := cmp.Diff(want, operations[1].Value); operations[1].Path != "/status" || diff != "" {
		t.Errorf("%s (-want +got):\n%s", operations[1].Path, diff)
	}
}

// A status that was stored although its answer was lost is not written again, whatever the cache shows, so its transition times
// stay.
func TestLostAnswerKeepsTransitionTimes(t *testing.T) {
	for name, lost := range map[string]error{
		"a lost connection": io.ErrUnexpectedEOF,
		"a timeout":         apierrors.NewTimeoutError("request did not complete within the allotted duration", 0),
		"a server error":    errServer,
	} {
		for _, first := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " at the first status", false: " at a later one"}[first], func(t *testing.T) {
				f := newFakeCluster(t, 2)
				if !first {
					f.start()
					f.setReady(0, "False")
				}
				stale := f.memcached()
				f.fail = func(write string, after bool) error {
					if write != patchStatus || !after {
						return nil
					}
					f.editStatus(func(s *cachev1alpha1.MemcachedStatus) {
						for i := range s.Conditions {
							s.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Minute)) // it was stored a while ago
						}
					})
					return lost
				}
				if err := f.reconcileOnce(); !errors.Is(err, lost) {
					t.Fatalf("reconciling: %v, want %v", err, lost)
				}
				f.fail, f.stale = nil, stale
				want := f.memcached().Status
				expectWrites(t, f.reconcile())
				if diff := cmp.Diff(want, f.memcached().Status); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
			})
		}
	}
}
