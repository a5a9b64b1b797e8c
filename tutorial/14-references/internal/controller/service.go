package controller

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// desiredService returns the Service that mc wants. It is headless: its name stands for the addresses of all pods, because clients of
// memcached choose a server for each key.
func desiredService(mc *cachev1alpha1.Memcached) *accorev1.ServiceApplyConfiguration {
	return accorev1.Service(mc.Name, mc.Namespace).
		WithLabels(podLabels(mc)).
		WithOwnerReferences(ownerReference(mc)).
		WithSpec(accorev1.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(podLabels(mc)).
			WithPorts(accorev1.ServicePort().
				WithName("memcached").
				WithProtocol(corev1.ProtocolTCP).
				WithPort(*mc.Spec.ContainerPort).
				WithTargetPort(intstr.FromString("memcached"))))
}

// desiredConfigMap returns the ConfigMap that mc wants, with which a client finds the Service.
func desiredConfigMap(mc *cachev1alpha1.Memcached) *accorev1.ConfigMapApplyConfiguration {
	return accorev1.ConfigMap(mc.Spec.ClientConfigMapName, mc.Namespace).
		WithLabels(podLabels(mc)).
		WithOwnerReferences(ownerReference(mc)).
		WithData(map[string]string{
			"host": fmt.Sprintf("%s.%s.svc", mc.Name, mc.Namespace),
			"port": strconv.Itoa(int(*mc.Spec.ContainerPort)),
		})
}
