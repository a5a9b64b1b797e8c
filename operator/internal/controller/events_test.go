package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestAnnouncements(t *testing.T) {
	status := func(value metav1.ConditionStatus, reason, message string) cachev1alpha1.MemcachedStatus {
		return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
			{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
			{Type: cachev1alpha1.ConditionDegraded, Status: value, Reason: reason, Message: message},
		}}
	}
	var (
		none    = cachev1alpha1.MemcachedStatus{}
		fine    = status(metav1.ConditionFalse, cachev1alpha1.ReasonAsExpected, "fine")
		pull    = status(metav1.ConditionTrue, cachev1alpha1.ReasonImagePullFailed, "pull")
		pullToo = status(metav1.ConditionTrue, cachev1alpha1.ReasonImagePullFailed, "pull something else")
		crash   = status(metav1.ConditionTrue, cachev1alpha1.ReasonCrashLoop, "crash")
	)
	for _, test := range []struct {
		name              string
		previous, current cachev1alpha1.MemcachedStatus
		want              announcement
	}{
		{"first status, fine", none, fine, announcement{}},
		{"first status, failing", none, pull, announcement{"Warning", "ImagePullFailed", "pull"}},
		{"still fine", fine, fine, announcement{}},
		{"fails", fine, pull, announcement{"Warning", "ImagePullFailed", "pull"}},
		{"still fails", pull, pull, announcement{}},
		{"something else fails for the same reason", pull, pullToo, announcement{"Warning", "ImagePullFailed", "pull something else"}},
		{"fails in another way", pull, crash, announcement{"Warning", "CrashLoop", "crash"}},
		{"recovers", crash, fine, announcement{"Normal", "Recovered", "fine"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, found := announcementOf(test.previous, test.current)
			if got != test.want || found != (test.want != announcement{}) {
				t.Errorf("got %+v, %t, want %+v", got, found, test.want)
			}
		})
	}
}

// eventSink records the notes of the events that are written, "again" for one that is counted.
type eventSink struct {
	mutex sync.Mutex
	notes []string
}

func (s *eventSink) add(note string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.notes = append(s.notes, note)
}

// Create implements events.EventSink.
func (s *eventSink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.add(event.Note)
	return event, nil
}

// Update implements events.EventSink.
func (s *eventSink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.add("again: " + event.Note)
	return event, nil
}

// The recorder counts events with the same reason. What a user reads is the newest message nevertheless.
func TestAnotherMessageIsAnotherEvent(t *testing.T) {
	forbidden := func(message string) cachev1alpha1.MemcachedStatus {
		return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
			{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonForbidden, Message: message},
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		sink := &eventSink{}
		broadcaster := events.NewBroadcaster(sink)
		if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		recorder := broadcaster.NewRecorder(testScheme(), cachev1alpha1.FieldManager)
		for _, message := range []string{"no create", "no patch", "no create"} {
			announce(recorder, testMemcached(1), cachev1alpha1.MemcachedStatus{}, forbidden(message))
			synctest.Wait()
		}
		if want := []string{"no create", "no patch", "again: no create"}; !slices.Equal(sink.notes, want) {
			t.Errorf("the API server gets %q, want %q", sink.notes, want)
		}
		broadcaster.Shutdown()
	})
}
