package controller

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// CacheOptions returns the cache options for what the reconciler reads: the objects that were created for a Memcached, trimmed to
// the fields that it uses. A cluster's other Deployments and pods take no memory.
func CacheOptions() cache.Options {
	ours, err := labels.NewRequirement(cachev1alpha1.LabelMemcachedUID, selection.Exists, nil)
	if err != nil {
		panic(err) // only if the constant were not a valid label
	}
	selector := labels.NewSelector().Add(*ours)
	return cache.Options{
		// Reading any other kind is a mistake, and must not start a watch for it.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}: {Label: selector, Transform: trimDeployment},
			&appsv1.ReplicaSet{}: {Label: selector, Transform: trimReplicaSet},
			&corev1.Pod{}:        {Label: selector, Transform: trimPod},
		},
	}
}

// CachedKinds returns an object of each kind that the reconciler watches, in the form in which the cache holds it.
func CachedKinds() []client.Object {
	return append([]client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}}, indexed()...)
}

// trimDeployment keeps every field that the operator sets, because users and other controllers may change them.
func trimDeployment(object any) (any, error) {
	if deployment, ok := object.(*appsv1.Deployment); ok {
		deployment.ManagedFields = nil
		deployment.Annotations = only(deployment.Annotations, cachev1alpha1.AnnotationFieldsHash, annotationRevision)
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Status.ObservedGeneration,
			ReadyReplicas:      deployment.Status.ReadyReplicas,
			Conditions: slices.DeleteFunc(deployment.Status.Conditions, func(condition appsv1.DeploymentCondition) bool {
				return condition.Type != appsv1.DeploymentReplicaFailure && !isOverdueRollout(condition)
			}),
		}
	}
	return object, nil
}

func trimReplicaSet(object any) (any, error) {
	if replicaSet, ok := object.(*metav1.PartialObjectMetadata); ok {
		revision, isThere := replicaSet.Annotations[annotationRevision]
		replicaSet.ObjectMeta = trimMeta(replicaSet.ObjectMeta)
		if isThere {
			replicaSet.Annotations = map[string]string{annotationRevision: revision}
		}
	}
	return object, nil
}

func trimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	images := map[string]string{}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range containers {
			images[container.Name] = container.Image
		}
	}
	// An init container that is always restarted is a sidecar: it runs beside the containers, and fails as they do.
	initial, running := []corev1.ContainerStatus{}, []corev1.ContainerStatus{}
	for _, container := range pod.Status.InitContainerStatuses {
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == container.Name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}) {
			running = append(running, container)
		} else {
			initial = append(initial, container)
		}
	}
	running = append(running, pod.Status.ContainerStatuses...)
	pod.ObjectMeta = trimMeta(pod.ObjectMeta)
	pod.Spec = corev1.PodSpec{}
	status := corev1.PodStatus{Phase: pod.Status.Phase}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady || condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue {
			condition.Message = ""
			status.Conditions = append(status.Conditions, condition)
		}
	}
	trim := func(all []corev1.ContainerStatus) (trimmed []corev1.ContainerStatus) {
		for _, container := range all {
			if container.Ready && isReady(*pod) {
				continue // it has no failure
			}
			trimmed = append(trimmed, corev1.ContainerStatus{
				Name: container.Name,
				// A user recognizes the image as the template has it. The kubelet may report another name for it.
				Image:                cmp.Or(images[container.Name], container.Image),
				Ready:                container.Ready,
				State:                container.State,
				LastTerminationState: container.LastTerminationState,
			})
		}
		return trimmed
	}
	status.InitContainerStatuses = trim(initial)
	status.ContainerStatuses = trim(running)
	pod.Status = status
	return pod, nil
}

// trimMeta keeps what identifies an object and its owners, and when it was created and deleted.
func trimMeta(full metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              full.Name,
		Namespace:         full.Namespace,
		UID:               full.UID,
		ResourceVersion:   full.ResourceVersion,
		CreationTimestamp: full.CreationTimestamp,
		Labels:            only(full.Labels, labelInstance, cachev1alpha1.LabelMemcachedUID, cachev1alpha1.LabelTemplateHash),
		OwnerReferences:   full.OwnerReferences,
		DeletionTimestamp: full.DeletionTimestamp,
	}
}

// only returns the labels or annotations that have one of the keys.
func only(all map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, isThere := all[key]; isThere {
			kept[key] = value
		}
	}
	return kept
}
