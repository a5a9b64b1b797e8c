package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// eventAction is what the operator was doing when an event came about. The API wants one.
const eventAction = "Reconcile"

// announcement is an event about a Memcached.
type announcement struct {
	eventType, reason, note string
}

// announcementOf returns the event for the step from one status to the next. It reports false where there is nothing that a user
// should hear about. The steps that count: something fails, something else fails, nothing fails anymore.
func announcementOf(previous, current cachev1alpha1.MemcachedStatus) (announcement, bool) {
	before, now := degradedOf(previous), degradedOf(current)
	switch {
	case now.Status == metav1.ConditionTrue && (before.Status != metav1.ConditionTrue || before.Reason != now.Reason):
		return announcement{corev1.EventTypeWarning, now.Reason, now.Message}, true
	case now.Status == metav1.ConditionFalse && before.Status == metav1.ConditionTrue:
		return announcement{corev1.EventTypeNormal, cachev1alpha1.ReasonRecovered, now.Message}, true
	}
	return announcement{}, false
}

// degradedOf returns the condition Degraded of a status; an empty one if it has none.
func degradedOf(status cachev1alpha1.MemcachedStatus) metav1.Condition {
	if found := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionDegraded); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// announce records the event for the step of mc from one status to the next, once the API server has the next. If the operator
// exits in between, there is no event; the condition still says what is wrong.
func announce(recorder events.EventRecorder, mc *cachev1alpha1.Memcached, previous, current cachev1alpha1.MemcachedStatus) {
	event, worthy := announcementOf(previous, current)
	if !worthy {
		return
	}
	// Without a resource version, so that the same event of another day is counted instead of written anew.
	regarding := &corev1.ObjectReference{
		APIVersion: cachev1alpha1.GroupVersion.String(),
		Kind:       "Memcached",
		Namespace:  mc.Namespace,
		Name:       mc.Name,
		UID:        mc.UID,
	}
	recorder.Eventf(regarding, nil, event.eventType, event.reason, eventAction, "%s", event.note)
}
