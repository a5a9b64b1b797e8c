package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The Deployment's controller has a progress deadline of its own (spec.progressDeadlineSeconds, which is not the operator's
// field). It stops looking once a ReplicaSet was complete, until the next rollout: DeploymentTimedOut in
// k8s.io/kubernetes/pkg/controller/deployment/util. What comes to a halt after that, such as more replicas or the replacement
// of a lost pod, only the operator's deadline ends.

// isOverdue returns whether the pods have been on their way for too long: the progress deadline has passed, or the
// Deployment's controller says that its own has.
func (s snapshot) isOverdue() bool {
	moved := s.lastMove()
	return moved.Before(s.now) && (s.deployment.overdue || s.now.Sub(moved) >= s.progressDeadline)
}

// untilOverdue returns how much time the pods have left.
func (s snapshot) untilOverdue() time.Duration {
	return s.lastMove().Add(s.progressDeadline).Sub(s.now)
}

// lastMove returns when there was the last progress: when Progressing became true, or the Deployment or the newest pod was
// created, whatever came last. What the last status doesn't know of, such as a new spec or a pod that was just lost, begins
// now. All of it is in the API, so a restart of the operator makes no difference.
func (s snapshot) lastMove() time.Time {
	progressing := meta.FindStatusCondition(s.previous.Conditions, cachev1alpha1.ConditionProgressing)
	if progressing == nil || progressing.ObservedGeneration != s.memcached.Generation {
		return s.now
	}
	moved := s.deployment.created.Time
	switch {
	case progressing.Status == metav1.ConditionTrue:
		moved = later(moved, progressing.LastTransitionTime.Time)
	case progressing.Reason != cachev1alpha1.ReasonProgressDeadlineExceeded:
		return s.now
	}
	for i := range s.pods {
		moved = later(moved, s.pods[i].CreationTimestamp.Time)
	}
	return moved
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// isHeld returns whether somebody has paused the Deployment while a rollout is due. A pause alone holds nothing up: the
// Deployment's controller still scales.
func (s snapshot) isHeld(pods podCounts) bool {
	return s.deployment.paused && (pods.outdated > 0 || !s.hasCurrentReplicaSet())
}

// hasCurrentReplicaSet returns whether the Deployment has a ReplicaSet of the current configuration.
func (s snapshot) hasCurrentReplicaSet() bool {
	for i := range s.replicaSets {
		if isControlledBy(&s.replicaSets[i], s.deployment.uid) && s.replicaSets[i].Labels[cachev1alpha1.LabelTemplateHash] == s.templateHash {
			return true
		}
	}
	return false
}
