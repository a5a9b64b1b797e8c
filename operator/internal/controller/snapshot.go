package controller

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// snapshot is everything that a status is computed from, as observed at one time.
type snapshot struct {
	memcached  *cachev1alpha1.Memcached
	deployment deploymentState
	// refused is why the Deployment is not as desired, if something refuses it.
	refused     refusal
	replicaSets []metav1.PartialObjectMetadata
	pods        []corev1.Pod

	// previous is the last status that the operator reported.
	previous cachev1alpha1.MemcachedStatus

	// stored is the newest known status in the API, which somebody else may have edited.
	stored cachev1alpha1.MemcachedStatus

	// templateHash is the hash in the label of pods of the current configuration.
	templateHash string

	// now is when the snapshot was taken. progressDeadline is how long the pods may go without progress.
	now              time.Time
	progressDeadline time.Duration
}

// annotationRevision is the annotation in which the Deployment's controller numbers the templates of a Deployment: on the Deployment,
// that of the current one, and on each ReplicaSet, its own.
const annotationRevision = "deployment.kubernetes.io/revision"

// deploymentState is the part of a Deployment that a status depends on.
type deploymentState struct {
	uid     types.UID
	created metav1.Time
	// selectorUID is the UID by which it selects its pods. An adopted Deployment has that of an earlier Memcached.
	selectorUID types.UID
	// unknown is whether the Deployment could not be read, so that the rest says nothing about it.
	unknown bool
	// replicas is spec.replicas.
	replicas int32
	// ready is how many of its pods the Deployment's controller has counted as ready. It may be ahead of the operator's cache, or
	// behind.
	ready int32
	// observed is whether the Deployment's controller has seen its current spec.
	observed bool
	// terminating is whether the Deployment is being deleted. Without a UID, it is the Deployment of an earlier Memcached of the
	// same name.
	terminating bool
	// paused is whether spec.paused keeps the Deployment's controller from rolling out.
	paused bool
	// revision is the number that the Deployment's controller has given to the current template, as its newest ReplicaSet has it.
	// It is empty until the controller has seen the Deployment.
	revision string
	// overdue is whether the Deployment's controller reports that a rollout has exceeded spec.progressDeadlineSeconds.
	overdue bool
	// podsRefused is the message with which the Deployment's controller reports that it cannot create pods.
	podsRefused string
}

// stateOf returns the state of a Deployment that the API server returned.
func stateOf(deployment *appsv1.Deployment) deploymentState {
	state := deploymentState{
		uid:         deployment.UID,
		created:     deployment.CreationTimestamp,
		selectorUID: selectorUID(deployment),
		paused:      deployment.Spec.Paused,
		ready:       deployment.Status.ReadyReplicas,
		observed:    deployment.Status.ObservedGeneration >= deployment.Generation,
		terminating: deployment.DeletionTimestamp != nil,
		revision:    deployment.Annotations[annotationRevision],
	}
	if deployment.Spec.Replicas != nil {
		state.replicas = *deployment.Spec.Replicas
	}
	for _, condition := range deployment.Status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			state.podsRefused = condition.Message
		case isOverdueRollout(condition):
			state.overdue = state.observed
		}
	}
	return state
}

// isOverdueRollout reports whether a Deployment's condition says that a rollout has exceeded spec.progressDeadlineSeconds.
func isOverdueRollout(condition appsv1.DeploymentCondition) bool {
	return condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse &&
		condition.Reason == cachev1alpha1.ReasonProgressDeadlineExceeded
}

// podCounts are the pods that the Deployment owns and keeps. Pods that have finished or are being deleted are not included,
// because the ReplicaSet replaces them.
type podCounts struct {
	// ready are the sorted names of the ready pods. Pods of an earlier configuration are included, because they serve until they
	// are replaced.
	ready []string
	// current are all pods of the current template, ready or not.
	current []corev1.Pod
	// outdated is the number of pods of earlier templates: those with an earlier configuration by the operator, and those from
	// before a change of the template by others, such as "kubectl rollout restart".
	outdated int
	// unclear is the number of ready pods whose ReplicaSet is not in the cache yet. Each kind has a watch of its own, and one
	// watch may be ahead of another.
	unclear int
}

// countPods counts the pods of the snapshot.
func (s snapshot) countPods() podCounts {
	isOwner, isOutdated := map[types.UID]bool{}, map[types.UID]bool{}
	for i := range s.replicaSets {
		replicaSet := &s.replicaSets[i]
		isOwner[replicaSet.UID] = isControlledBy(replicaSet, s.deployment.uid)
		isOutdated[replicaSet.UID] = s.isOutdated(replicaSet)
	}
	var counts podCounts
	for _, pod := range s.pods {
		controller := metav1.GetControllerOfNoCopy(&pod)
		if controller == nil || isGone(pod) {
			continue
		}
		isOwned, known := isOwner[controller.UID]
		if !known && isReady(pod) {
			counts.unclear++
		}
		if !isOwned {
			continue
		}
		if isReady(pod) {
			counts.ready = append(counts.ready, pod.Name)
		}
		if isOutdated[controller.UID] || pod.Labels[cachev1alpha1.LabelTemplateHash] != s.templateHash {
			counts.outdated++
			continue
		}
		counts.current = append(counts.current, pod)
	}
	slices.Sort(counts.ready)
	return counts
}

// isOutdated reports whether a ReplicaSet has another revision than the Deployment. It may be an earlier template with the same
// configuration by the operator.
func (s snapshot) isOutdated(replicaSet *metav1.PartialObjectMetadata) bool {
	revision := replicaSet.Annotations[annotationRevision]
	return revision != "" && s.deployment.revision != "" && revision != s.deployment.revision
}

func isControlledBy(object metav1.Object, uid types.UID) bool {
	controller := metav1.GetControllerOfNoCopy(object)
	return controller != nil && controller.UID == uid
}

// isGone reports whether a pod has finished or is being deleted, and so never becomes ready again.
func isGone(pod corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
