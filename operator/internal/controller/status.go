package controller

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// conditionTypes are the conditions that the operator owns, in the order in which it writes them.
var conditionTypes = []string{
	cachev1alpha1.ConditionAvailable,
	cachev1alpha1.ConditionProgressing,
	cachev1alpha1.ConditionDegraded,
}

// computeStatus returns the status that the snapshot shows, without transition times. It returns false when it is too early to
// tell; another snapshot follows.
func computeStatus(s snapshot) (cachev1alpha1.MemcachedStatus, bool) {
	if s.deployment.unknown {
		return s.unknownStatus(), true
	}
	pods := s.countPods()
	available, settled := s.available(pods)
	if !settled {
		return cachev1alpha1.MemcachedStatus{}, false
	}
	progressing := s.progressing(pods)
	return cachev1alpha1.MemcachedStatus{
		Conditions: []metav1.Condition{available, progressing, s.degraded(pods, progressing)},
		Nodes:      pods.ready,
		// This is spec.replicas, not the number of pods at the moment: pods come and go one by one, and each would be a write
		// that adds nothing to nodes.
		Replicas:      s.deployment.replicas,
		ReadyReplicas: int32(len(pods.ready)),
		Selector:      selector(cmp.Or(s.deployment.selectorUID, s.memcached.UID)),
	}, true
}

// unknownStatus returns the status while the Deployment can't be read: the counts are those of the previous status, and nothing
// says how many replicas are ready.
func (s snapshot) unknownStatus() cachev1alpha1.MemcachedStatus {
	status := s.previous
	progressing := s.progressing(podCounts{})
	status.Conditions = []metav1.Condition{
		s.condition(cachev1alpha1.ConditionAvailable, metav1.ConditionUnknown, cachev1alpha1.ReasonDeploymentUnknown,
			"The Deployment cannot be read; Degraded says why."),
		progressing,
		s.degraded(podCounts{}, progressing),
	}
	status.Selector = cmp.Or(s.previous.Selector, selector(s.memcached.UID))
	return status
}

// condition returns a condition for the generation of the Memcached in this snapshot.
func (s snapshot) condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type:               conditionType,
		Status:             status,
		ObservedGeneration: s.memcached.Generation,
		Reason:             reason,
		Message:            message,
	}
}

// available returns the condition Available, or false when it is too early to tell. A loss of availability is reported at once,
// whether the pods or the Deployment show it first.
func (s snapshot) available(pods podCounts) (metav1.Condition, bool) {
	size, ready := *s.memcached.Spec.Size, s.readyReplicas(pods)
	counted := fmt.Sprintf("%d of %d replicas are ready.", ready, size)
	enough := ready >= size
	switch {
	case s.deployment.terminating:
		return s.condition(cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, cachev1alpha1.ReasonDeploymentTerminating,
			"The Deployment is being deleted."), true
	case s.isEarly(pods) && !s.isOverdue():
		return metav1.Condition{}, false
	case enough && s.deployment.observed:
		return s.condition(cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, cachev1alpha1.ReasonAllReplicasReady, counted), true
	}
	return s.condition(cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, cachev1alpha1.ReasonReplicasNotReady, counted), true
}

// isEarly reports whether the cached Deployment, ReplicaSets and pods do not agree yet, because one of them is behind. Its next
// event triggers another reconcile.
func (s snapshot) isEarly(pods podCounts) bool {
	size, ready := int(*s.memcached.Spec.Size), len(pods.ready)
	wasAvailable := meta.IsStatusConditionTrue(s.previous.Conditions, cachev1alpha1.ConditionAvailable)
	switch {
	case s.deployment.uid == "":
		return false
	case ready < size:
		// A ready pod whose ReplicaSet is not in the cache yet may have replaced one that is gone.
		return wasAvailable && ready+pods.unclear >= size
	case !s.deployment.observed:
		// The Deployment's controller has not seen the current spec, so the pods may be about to be replaced.
		return true
	}
	// It has not counted the pods yet. A user who waits for Available and then looks at the Deployment would find fewer.
	return !wasAvailable && s.deployment.ready < int32(size)
}

// readyReplicas returns how many of the replicas that the spec asks for are ready. There may be more pods for a while, during a rollout
// or before the size is reduced. Once there are enough, the Deployment's controller has to agree; until then, a difference is not
// worth a write.
func (s snapshot) readyReplicas(pods podCounts) int32 {
	ready, size := int32(len(pods.ready)), *s.memcached.Spec.Size
	if ready >= size {
		return min(size, s.deployment.ready)
	}
	return ready
}

// progressing returns the condition Progressing.
func (s snapshot) progressing(pods podCounts) metav1.Condition {
	reason, message := s.remainingWork(pods)
	switch {
	case s.refused.reason != "":
		return s.condition(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonBlocked,
			"The Deployment cannot be created or changed as the spec requires; Degraded says why.")
	case s.isRolloutPaused(pods):
		return s.condition(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonBlocked,
			"A rollout is due, and the Deployment is paused.")
	case reason == "":
		return s.condition(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonConverged,
			"There are as many replicas as asked for, all ready.")
	case s.isOverdue():
		return s.condition(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonProgressDeadlineExceeded,
			"There was no progress within the progress deadline; Degraded reports what the pods show.")
	}
	return s.condition(cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, reason, message)
}

// remainingWork returns why the pods are not yet as the spec asks for, or two empty strings.
func (s snapshot) remainingWork(pods podCounts) (reason, message string) {
	size := *s.memcached.Spec.Size
	switch {
	case s.deployment.terminating:
		return cachev1alpha1.ReasonDeploymentTerminating, "A new Deployment is created when this one is gone."
	case pods.outdated > 0:
		return cachev1alpha1.ReasonRollingOut, "Replicas of an earlier revision are being replaced."
	case s.readyReplicas(pods) < size:
		return cachev1alpha1.ReasonStartingReplicas, "Waiting for replicas to become ready."
	case len(pods.current) > int(size):
		return cachev1alpha1.ReasonRemovingReplicas, "Replicas beyond the size are being removed."
	}
	return "", ""
}

// degraded returns the condition Degraded, which says why progressing is blocked or has exceeded the deadline.
func (s snapshot) degraded(pods podCounts, progressing metav1.Condition) metav1.Condition {
	if reason, message := s.degradation(pods, progressing); reason != "" {
		if before := degradedOf(s.previous); before.Reason == reason && sameCause(before.Message, message) {
			message = before.Message
		}
		return s.condition(cachev1alpha1.ConditionDegraded, metav1.ConditionTrue, reason, message)
	}
	return s.condition(cachev1alpha1.ConditionDegraded, metav1.ConditionFalse, cachev1alpha1.ReasonAsExpected,
		"No replica reports a failure.")
}

// degradation returns the first problem, or two empty strings. It looks for what keeps the Deployment from being as desired, then
// for what keeps it from having pods, then for what keeps the pods from running.
func (s snapshot) degradation(pods podCounts, progressing metav1.Condition) (reason, message string) {
	for _, refused := range []refusal{s.refused, podsRefusal(s.deployment.podsRefused, s.memcached.Name)} {
		if refused.reason != "" {
			return refused.reason, refused.message
		}
	}
	if reason, message = firstOf(failures, pods.current); reason != "" {
		return reason, message
	}
	switch progressing.Reason {
	case cachev1alpha1.ReasonBlocked: // by a pause, because nothing is refused
		return cachev1alpha1.ReasonDeploymentPaused,
			fmt.Sprintf("A rollout is due, and the Deployment is paused: kubectl rollout resume deployment %s.", s.memcached.Name)
	case cachev1alpha1.ReasonProgressDeadlineExceeded:
		if reason, message = firstOf(stalls, pods.current); reason != "" {
			return reason, message
		}
		return cachev1alpha1.ReasonProgressDeadlineExceeded, "There was no progress within the progress deadline, and no pod shows why."
	}
	return "", ""
}

// sameStatus reports whether two statuses differ in nothing but timestamps. Conditions of other types are not the operator's and
// are ignored.
func sameStatus(a, b cachev1alpha1.MemcachedStatus) bool {
	return equality.Semantic.DeepEqual(withoutTimes(a), withoutTimes(b))
}

// isMereProgress reports whether the change from one status to the next affects counts only: the conditions have the same status,
// reason and generation. A new message of Degraded is more than that, because it says what fails.
func isMereProgress(previous, current cachev1alpha1.MemcachedStatus) bool {
	for _, condition := range current.Conditions {
		before := meta.FindStatusCondition(previous.Conditions, condition.Type)
		if before == nil || before.Status != condition.Status || before.Reason != condition.Reason ||
			before.ObservedGeneration != condition.ObservedGeneration ||
			condition.Type == cachev1alpha1.ConditionDegraded && before.Message != condition.Message {
			return false
		}
	}
	return previous.Selector == current.Selector
}

func withoutTimes(status cachev1alpha1.MemcachedStatus) cachev1alpha1.MemcachedStatus {
	var conditions []metav1.Condition
	for _, conditionType := range conditionTypes {
		if condition := meta.FindStatusCondition(status.Conditions, conditionType); condition != nil {
			copied := *condition
			copied.LastTransitionTime = metav1.Time{}
			conditions = append(conditions, copied)
		}
	}
	status.Conditions = conditions
	return status
}

// withTransitionTimes sets the transition time of each condition: that of previous if the condition's status is unchanged, else
// now.
func withTransitionTimes(status, previous cachev1alpha1.MemcachedStatus, now metav1.Time) cachev1alpha1.MemcachedStatus {
	status.Conditions = slices.Clone(status.Conditions)
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		condition.LastTransitionTime = now
		before := meta.FindStatusCondition(previous.Conditions, condition.Type)
		if before != nil && before.Status == condition.Status && !before.LastTransitionTime.IsZero() {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	return status
}
