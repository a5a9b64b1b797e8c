package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/lenient"
)

// eventAction returns what the operator was doing when it recorded an event with that note. The events API requires an action.
//
// The recorder counts an event as a repetition of an earlier one if everything but the note is equal, and then drops the note (as of
// client-go v0.37, getKey in k8s.io/client-go/tools/events). The action is different for another note, so that users read it.
func eventAction(note string) string {
	return "Reconcile-" + hash(note)
}

// announcement is an event about a Memcached.
type announcement struct {
	eventType, reason, note string
}

// announcementOf returns the event for the change from one status to the next, and whether there is one. There is an
// event when something fails, when something else fails instead or the message says more, and when nothing fails anymore.
func announcementOf(previous, current cachev1alpha1.MemcachedStatus) (announcement, bool) {
	before, now := degradedOf(previous), degradedOf(current)
	switch {
	case now.Status == metav1.ConditionTrue && (before.Status != metav1.ConditionTrue || before.Reason != now.Reason || before.Message != now.Message):
		return announcement{corev1.EventTypeWarning, now.Reason, now.Message}, true
	case now.Status == metav1.ConditionFalse && before.Status == metav1.ConditionTrue:
		return announcement{corev1.EventTypeNormal, cachev1alpha1.ReasonRecovered, now.Message}, true
	}
	return announcement{}, false
}

// degradedOf returns the condition Degraded of a status, or an empty condition if there is none.
func degradedOf(status cachev1alpha1.MemcachedStatus) metav1.Condition {
	if found := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionDegraded); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// announce records the event for a change of status, once the API server has stored the new status. If the operator exits in
// between, there is no event, but the condition still says what is wrong.
func announce(recorder events.EventRecorder, mc *cachev1alpha1.Memcached, previous, current cachev1alpha1.MemcachedStatus) {
	event, found := announcementOf(previous, current)
	if !found {
		return
	}
	recorder.Eventf(referenceTo(mc), nil, event.eventType, event.reason, eventAction(event.note), "%s", event.note)
}

// announceUndecodable records the event for a Memcached that can't be decoded, which has no status to say so.
func announceUndecodable(recorder events.EventRecorder, err *lenient.UndecodableError) {
	note := capitalized(sentence(err.Error()))
	recorder.Eventf(referenceTo(&err.Object), nil, corev1.EventTypeWarning, cachev1alpha1.ReasonUndecodable, eventAction(note), "%s", note)
}

// referenceTo refers to a Memcached. The reference has no resource version, so that an event which occurs again is counted instead of
// created again.
func referenceTo(mc metav1.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: cachev1alpha1.GroupVersion.String(),
		Kind:       "Memcached",
		Namespace:  mc.GetNamespace(),
		Name:       mc.GetName(),
		UID:        mc.GetUID(),
	}
}
