package controller

import (
	"encoding/json"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

const (
	// labelMemcachedUID is the label that a Deployment selects its pods by. Two Memcacheds never have the same UID.
	labelMemcachedUID = "cache.example.com/memcached-uid"

	// annotationMemcached is an annotation of pods with the name of their Memcached.
	annotationMemcached = "cache.example.com/memcached"

	// memcachedUser is the ID of the user "memcache" in the official images. The images name the user, but with runAsNonRoot a
	// kubelet accepts only an ID, because a name could stand for root.
	memcachedUser = 11211
)

// desiredDeployment returns the desired Deployment of mc, with the fields that the operator owns and no others. The API
// server has already filled in the defaults of mc's spec.
func desiredDeployment(mc *cachev1beta1.Memcached, image string) *acappsv1.DeploymentApplyConfiguration {
	labels := podLabels(mc)
	return acappsv1.Deployment(mc.Name, mc.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerReference(mc)).
		WithSpec(acappsv1.DeploymentSpec().
			WithReplicas(*mc.Spec.Replicas).
			WithSelector(acmetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(accorev1.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(map[string]string{annotationMemcached: mc.Name}).
				WithSpec(accorev1.PodSpec().
					WithSecurityContext(accorev1.PodSecurityContext().
						WithRunAsNonRoot(true).
						WithRunAsUser(memcachedUser).
						WithSeccompProfile(accorev1.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithContainers(memcachedContainer(image, mc.Spec.Network)))))
}

// podLabels returns the labels that only the pods of mc have.
func podLabels(mc *cachev1beta1.Memcached) map[string]string {
	return map[string]string{labelMemcachedUID: string(mc.UID)}
}

// toDeployment converts an apply configuration to a Deployment.
func toDeployment(applied *acappsv1.DeploymentApplyConfiguration) (*appsv1.Deployment, error) {
	text, err := json.Marshal(applied)
	if err != nil {
		return nil, err
	}
	deployment := &appsv1.Deployment{}
	return deployment, json.Unmarshal(text, deployment)
}

// ownerReference returns the owner reference that makes mc the controller of an object. Owns uses it to find mc, and the garbage
// collector uses it to delete the object after mc.
func ownerReference(mc *cachev1beta1.Memcached) *acmetav1.OwnerReferenceApplyConfiguration {
	return acmetav1.OwnerReference().
		WithAPIVersion(cachev1beta1.GroupVersion.String()).
		WithKind("Memcached").
		WithName(mc.Name).
		WithUID(mc.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

func memcachedContainer(image string, network cachev1beta1.Network) *accorev1.ContainerApplyConfiguration {
	args := []string{"-p", strconv.Itoa(int(*network.Port))}
	if network.MaxConnections != nil {
		args = append(args, "-c", strconv.Itoa(int(*network.MaxConnections)))
	}
	return accorev1.Container().
		WithName("memcached").
		WithImage(image).
		WithCommand("memcached").
		WithArgs(args...).
		WithPorts(accorev1.ContainerPort().
			WithName("memcached").
			WithContainerPort(*network.Port).
			WithProtocol(corev1.ProtocolTCP)).
		WithSecurityContext(accorev1.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(accorev1.Capabilities().WithDrop("ALL")))
}
