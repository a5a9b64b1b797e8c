package controller

import (
	corev1 "k8s.io/api/core/v1"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/quickstart/api/v1alpha1"
)

// desiredDeployment returns the Deployment that mc should have.
func desiredDeployment(mc *cachev1alpha1.Memcached, image string) *acappsv1.DeploymentApplyConfiguration {
	labels := map[string]string{"cache.example.com/memcached-uid": string(mc.UID)}
	return acappsv1.Deployment(mc.Name, mc.Namespace).
		WithOwnerReferences(ownerReference(mc)).
		WithSpec(acappsv1.DeploymentSpec().
			WithReplicas(mc.Spec.Size).
			WithSelector(acmetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(podTemplate(labels, image)))
}

// ownerReference returns the owner reference that makes mc the owner of an object.
func ownerReference(mc *cachev1alpha1.Memcached) *acmetav1.OwnerReferenceApplyConfiguration {
	return acmetav1.OwnerReference().
		WithAPIVersion(cachev1alpha1.GroupVersion.String()).
		WithKind("Memcached").
		WithName(mc.Name).
		WithUID(mc.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// podTemplate returns what the pods are made from: their labels, and a container with memcached.
func podTemplate(labels map[string]string, image string) *accorev1.PodTemplateSpecApplyConfiguration {
	return accorev1.PodTemplateSpec().
		WithLabels(labels).
		WithSpec(accorev1.PodSpec().
			WithSecurityContext(accorev1.PodSecurityContext().
				WithRunAsNonRoot(true).
				WithRunAsUser(11211). // the user "memcache" in the official images
				WithSeccompProfile(accorev1.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
			WithContainers(accorev1.Container().
				WithName("memcached").
				WithImage(image).
				WithPorts(accorev1.ContainerPort().WithName("memcached").WithContainerPort(11211).WithProtocol(corev1.ProtocolTCP)).
				WithSecurityContext(accorev1.SecurityContext().
					WithAllowPrivilegeEscalation(false).
					WithCapabilities(accorev1.Capabilities().WithDrop("ALL")))))
}

// readyReplicas returns how many pods of a Deployment are ready, after the API server has answered to its Apply.
func readyReplicas(deployment *acappsv1.DeploymentApplyConfiguration) int32 {
	if deployment.Status == nil || deployment.Status.ReadyReplicas == nil {
		return 0
	}
	return *deployment.Status.ReadyReplicas
}
