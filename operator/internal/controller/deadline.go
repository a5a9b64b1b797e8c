package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The Deployment's controller has a progress deadline too (spec.progressDeadlineSeconds, which the operator does not set). It
// stops checking once a ReplicaSet is complete, until the next rollout: see DeploymentTimedOut in
// k8s.io/kubernetes/pkg/controller/deployment/util. Only the operator's deadline covers what gets stuck after that, such as a
// scale-up or the replacement of a lost pod.

// isOverdue reports whether the pods have made no progress for too long: the progress deadline has passed, or the Deployment's
// controller reports that its own has.
func (s snapshot) isOverdue() bool {
	last := s.lastProgress()
	return last.Before(s.now) && (s.deployment.overdue || s.now.Sub(last) >= s.progressDeadline)
}

// untilOverdue returns how much of the progress deadline is left.
func (s snapshot) untilOverdue() time.Duration {
	return s.lastProgress().Add(s.progressDeadline).Sub(s.now)
}

// lastProgress returns the time of the last progress: when Progressing became true, or when the Deployment or the newest pod was
// created, whichever is latest. A change that the last status does not cover, such as a new spec or a lost pod, counts from now.
// All of these times are in the API, so a restart of the operator changes nothing.
func (s snapshot) lastProgress() time.Time {
	progressing := meta.FindStatusCondition(s.previous.Conditions, cachev1alpha1.ConditionProgressing)
	if progressing == nil || progressing.ObservedGeneration != s.memcached.Generation {
		return s.now
	}
	last := s.deployment.created.Time
	switch {
	case progressing.Status == metav1.ConditionTrue:
		last = later(last, progressing.LastTransitionTime.Time)
	case progressing.Reason != cachev1alpha1.ReasonProgressDeadlineExceeded:
		return s.now
	}
	for i := range s.pods {
		last = later(last, s.pods[i].CreationTimestamp.Time)
	}
	return last
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// isRolloutPaused reports whether the Deployment is paused while a rollout is due. Without a rollout, a pause has no effect here,
// because the Deployment's controller still scales.
func (s snapshot) isRolloutPaused(pods podCounts) bool {
	return s.deployment.paused && (pods.outdated > 0 || !s.hasCurrentReplicaSet())
}

// hasCurrentReplicaSet reports whether the Deployment has a ReplicaSet of the current configuration.
func (s snapshot) hasCurrentReplicaSet() bool {
	for i := range s.replicaSets {
		if isControlledBy(&s.replicaSets[i], s.deployment.uid) && s.replicaSets[i].Labels[cachev1alpha1.LabelTemplateHash] == s.templateHash {
			return true
		}
	}
	return false
}
