package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Most reconciles are about pods, and find the Deployment as the reconcile before them did. Computing what is desired and comparing it
// took a fifth of the operator's CPU time in a rollout, so the results are kept for as long as they depend on nothing that has changed.
// The image and the options for pods are the same for as long as the process runs.

// comparison is all that the result of comparing a Deployment with the desired one of a Memcached depends on.
type comparison struct {
	size, containerPort int32
	// deployment is a hash of the Deployment. The API server counts changes of its spec in the generation.
	deployment string
}

func comparisonOf(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) comparison {
	return comparison{*mc.Spec.Size, *mc.Spec.ContainerPort, hash(metav1.ObjectMeta{
		UID:             deployment.UID,
		Generation:      deployment.Generation,
		Labels:          deployment.Labels,
		Annotations:     deployment.Annotations,
		OwnerReferences: deployment.OwnerReferences,
	})}
}

// recordAsDesired records that the Deployment of mc is as desired.
func (w *lastWrites) recordAsDesired(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) {
	w.update(mc, func(r *record) { r.asDesired = comparisonOf(mc, deployment) })
}

// isAsDesired reports whether the Deployment of mc has been as desired, and neither has changed since.
func (w *lastWrites) isAsDesired(mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) bool {
	last := w.read(mc).asDesired
	return last != comparison{} && last == comparisonOf(mc, deployment)
}

// template is the hash of a desired pod template, and all that it depends on.
type template struct {
	selectorUID   types.UID
	containerPort int32
	hash          string
}

// desiredTemplateHash returns the hash in the label of pods of mc that have the current configuration, and are selected by a UID.
func (r *MemcachedReconciler) desiredTemplateHash(mc *cachev1alpha1.Memcached, selectorUID types.UID) string {
	desired := r.lastWrites.read(mc).template
	if desired.hash == "" || desired.selectorUID != selectorUID || desired.containerPort != *mc.Spec.ContainerPort {
		deployment := desiredDeploymentSelecting(selectorUID, mc, r.Image, r.podOptions()...)
		desired = template{selectorUID, *mc.Spec.ContainerPort, templateHash(deployment)}
		r.lastWrites.update(mc, func(r *record) { r.template = desired })
	}
	return desired.hash
}
