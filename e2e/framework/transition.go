package framework

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TransitionTimes is the invariant that lastTransitionTime of a condition changes exactly when its status does, and is the time of that
// change. It covers conditions of these types, in objects of the kind, that only the field manager has written.
func TransitionTimes(kind, manager string, conditionTypes ...string) Invariant {
	return Invariant{Claim: "lastTransitionTime to change exactly when a status does", Violations: func(seen Seen) []string {
		var violations []string
		last := map[types.UID]*unstructured.Unstructured{}
		for _, v := range seen.Versions {
			if v.Object.GetKind() != kind {
				continue
			}
			before := last[v.Object.GetUID()]
			last[v.Object.GetUID()] = v.Object
			for _, conditionType := range conditionTypes {
				if !ownedBy(manager, conditionType, before, v.Object) {
					continue
				}
				if wrong := wrongTransition(seen, before, v.Object, manager, conditionType); wrong != "" {
					violations = append(violations, fmt.Sprintf("%s %s, revision %d: %s", kind, v.Object.GetName(), v.Revision, wrong))
				}
			}
		}
		return violations
	}}
}

// wrongTransition returns what is wrong with the transition time of a condition, given the version before (nil if there was none).
func wrongTransition(seen Seen, before, now *unstructured.Unstructured, manager, conditionType string) string {
	is := conditionOf(now, conditionType)
	if is == nil {
		return ""
	}
	if is.LastTransitionTime.IsZero() {
		return fmt.Sprintf("%s=%s has no transition time", conditionType, is.Status)
	}
	written := statusWritten(now, manager)
	if seen.SameClock && !written.IsZero() && is.LastTransitionTime.After(written) {
		return fmt.Sprintf("the transition time of %s, %s, is after it was written, at %s", conditionType, clock(is.LastTransitionTime.Time), clock(written))
	}
	var was *metav1.Condition
	if before != nil {
		was = conditionOf(before, conditionType)
	}
	switch {
	case was == nil || !seen.Complete:
		return ""
	case was.Status == is.Status && !was.LastTransitionTime.Equal(&is.LastTransitionTime):
		return fmt.Sprintf("%s stays %s, and its transition time changes from %s to %s",
			conditionType, is.Status, clock(was.LastTransitionTime.Time), clock(is.LastTransitionTime.Time))
	case was.Status != is.Status && seen.SameClock && is.LastTransitionTime.Time.Before(statusWritten(before, manager)):
		return fmt.Sprintf("%s changes from %s to %s, and its transition time, %s, is from before the status of %s",
			conditionType, was.Status, is.Status, clock(is.LastTransitionTime.Time), clock(statusWritten(before, manager)))
	}
	return ""
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

func conditionOf(object *unstructured.Unstructured, conditionType string) *metav1.Condition {
	conditions, err := ConditionsOf(object)
	if err != nil {
		return nil
	}
	return meta.FindStatusCondition(conditions, conditionType)
}

// statusWritten returns when the field manager last changed the object's status, by the API server's clock, which is the zero time if it
// never has. Times of objects are in whole seconds, rounded down.
func statusWritten(object *unstructured.Unstructured, manager string) time.Time {
	var last time.Time
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager && entry.Subresource == "status" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// ownedBy reports whether no other field manager has written anything of the condition in these versions, of which each may be nil.
func ownedBy(manager, conditionType string, versions ...*unstructured.Unstructured) bool {
	return !slices.ContainsFunc(versions, func(object *unstructured.Unstructured) bool {
		return object != nil && slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager != manager && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `k:{\"type\":\"`+conditionType+`\"}`)
		})
	})
}
