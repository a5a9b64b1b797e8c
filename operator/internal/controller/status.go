package controller

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	accachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// conditionTypes are the conditions that the operator owns, in the order in which it writes them.
var conditionTypes = []string{
	cachev1alpha1.ConditionAvailable,
	cachev1alpha1.ConditionProgressing,
	cachev1alpha1.ConditionDegraded,
}

// computeStatus returns what the snapshot says, without the times at which conditions changed. It returns false when the
// snapshot is too early to tell: enough pods are ready, but the Deployment's controller has not seen the Deployment's
// spec yet, so they may be about to go, or has not counted them yet, so that whoever waits for Available and then looks at
// the Deployment would find fewer. That controller's next write ends this. What was available and is not, is told at once,
// whoever notices first.
func computeStatus(s snapshot) (cachev1alpha1.MemcachedStatus, bool) {
	var (
		size    = *s.memcached.Spec.Size
		pods    = s.census()
		ready   = int32(len(pods.ready))
		total   = len(pods.current) + pods.outdated
		status  = cachev1alpha1.MemcachedStatus{Nodes: pods.ready, ReadyReplicas: ready, Selector: selector(s.memcached)}
		counted = fmt.Sprintf("%d of %d replicas are ready.", ready, size)
	)
	if ready >= size {
		// Before, the Deployment's count tells nothing that is worth a write of its own.
		counted = fmt.Sprintf("%d of %d replicas are ready.", min(ready, s.deployment.ready), size)
	}
	// What the Deployment is set to, not how many pods there are at the moment: those come and go one by one, and each
	// would be a write that tells nobody anything that nodes does not.
	status.Replicas = s.deployment.replicas

	set := func(conditionType string, value metav1.ConditionStatus, reason, message string) {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type:               conditionType,
			Status:             value,
			ObservedGeneration: s.memcached.Generation,
			Reason:             reason,
			Message:            message,
		})
	}

	enough := ready >= size && s.deployment.ready >= size
	switch {
	case s.deployment.terminating:
		set(cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, cachev1alpha1.ReasonDeploymentTerminating,
			"The Deployment is being deleted.")
	case ready >= size && s.deployment.uid != "" && (!s.deployment.observed || !enough && !s.wasAvailable):
		return cachev1alpha1.MemcachedStatus{}, false
	case enough && s.deployment.observed:
		set(cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, cachev1alpha1.ReasonAllReplicasReady, counted)
	default:
		set(cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, cachev1alpha1.ReasonReplicasNotReady, counted)
	}

	switch {
	case s.refused.reason != "":
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonBlocked,
			"The Deployment cannot be made as the spec asks for; Degraded says why.")
	case s.deployment.terminating:
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, cachev1alpha1.ReasonDeploymentTerminating,
			"A new Deployment is created when this one is gone.")
	case pods.outdated > 0:
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, cachev1alpha1.ReasonRollingOut,
			"Replicas of an earlier configuration are being replaced.")
	case !enough:
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, cachev1alpha1.ReasonStartingReplicas,
			"Waiting for replicas to become ready.")
	case total > int(size):
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, cachev1alpha1.ReasonRemovingReplicas,
			"Replicas beyond the size are being removed.")
	default:
		set(cachev1alpha1.ConditionProgressing, metav1.ConditionFalse, cachev1alpha1.ReasonConverged,
			"There are as many replicas as asked for, all ready.")
	}

	if reason, message := degradation(s, pods); reason != "" {
		set(cachev1alpha1.ConditionDegraded, metav1.ConditionTrue, reason, message)
	} else {
		set(cachev1alpha1.ConditionDegraded, metav1.ConditionFalse, cachev1alpha1.ReasonAsExpected,
			"No replica reports a failure.")
	}
	return status, true
}

// degradation returns the first thing that fails, or two empty strings: what keeps the Deployment from being as desired,
// what keeps it from having pods, what keeps the pods from running.
func degradation(s snapshot, pods census) (reason, message string) {
	for _, refused := range []refusal{s.refused, podsRefusal(s.deployment.podsRefused)} {
		if refused.reason != "" {
			return refused.reason, refused.message
		}
	}
	return failure(pods.current, s.image)
}

// sameStatus returns whether a user reads the same in both, timestamps aside. Conditions of other types are not ours.
func sameStatus(a, b cachev1alpha1.MemcachedStatus) bool {
	return equality.Semantic.DeepEqual(withoutTimes(a), withoutTimes(b))
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

// withTransitionTimes gives each condition of status the time of previous if its status is the same there, else now.
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

// statusApplyConfiguration returns what to apply so that the status of mc becomes status.
func statusApplyConfiguration(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) *accachev1alpha1.MemcachedApplyConfiguration {
	applied := accachev1alpha1.MemcachedStatus().
		WithNodes(status.Nodes...).
		WithReplicas(status.Replicas).
		WithReadyReplicas(status.ReadyReplicas).
		WithSelector(status.Selector)
	for _, condition := range status.Conditions {
		applied.WithConditions(acmetav1.Condition().
			WithType(condition.Type).
			WithStatus(condition.Status).
			WithObservedGeneration(condition.ObservedGeneration).
			WithLastTransitionTime(condition.LastTransitionTime).
			WithReason(condition.Reason).
			WithMessage(condition.Message))
	}
	// With the UID, a Memcached that was deleted and made anew under the same name does not get its predecessor's status.
	return accachev1alpha1.Memcached(mc.Name, mc.Namespace).WithUID(mc.UID).WithStatus(applied)
}
