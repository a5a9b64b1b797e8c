package framework

import (
	"context"
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event describes an expected event about an object.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason must be equal.
	Reason string
	// Note must be part of the event's note (its message), unless it is empty.
	Note string
	// Times is the minimum number of times that it must have been recorded, as a series of events counts them; zero means once.
	Times int32
}

// WaitForEvent waits until an event about the object is recorded, in the object's namespace. about must have the UID that the API
// server gave it: an earlier object of the same name does not count.
func WaitForEvent(ctx context.Context, s *Scope, about client.Object, want Event) {
	s.Helper()
	_, subject := listOf(s, about)
	settle(ctx, s, subject, &eventsv1.EventList{}, []client.ListOption{client.InNamespace(about.GetNamespace())},
		func(objects []client.Object) error {
			var seen []string
			for _, object := range objects {
				event := object.(*eventsv1.Event)
				if event.Regarding.UID != about.GetUID() {
					continue
				}
				if event.Type == want.Type && event.Reason == want.Reason && strings.Contains(event.Note, want.Note) && times(event) >= want.Times {
					return nil
				}
				seen = append(seen, fmt.Sprintf("%s %s %q, %d times", event.Type, event.Reason, event.Note, times(event)))
			}
			expected := want.Type + " " + want.Reason
			if want.Note != "" {
				expected += fmt.Sprintf(" with %q in its message", want.Note)
			}
			if want.Times > 1 {
				expected += fmt.Sprintf(", %d times", want.Times)
			}
			return fmt.Errorf("expected the event %s; last seen: [%s]", expected, strings.Join(seen, ", "))
		})
}

// times returns how often an event was recorded.
func times(event *eventsv1.Event) int32 {
	if event.Series == nil {
		return 1
	}
	return event.Series.Count
}
