package controller

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
)

// deploymentFor returns the Deployment to create for mc.
func (r *MemcachedReconciler) deploymentFor(mc *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	labels := labelsFor(mc)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: mc.Name, Namespace: mc.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: mc.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name:            "memcached",
						Image:           r.Image,
						ImagePullPolicy: corev1.PullIfNotPresent,
						Command:         commandFor(mc),
						Ports:           []corev1.ContainerPort{{Name: "memcached", ContainerPort: *mc.Spec.ContainerPort}},
						SecurityContext: &corev1.SecurityContext{
							RunAsNonRoot:             new(true),
							RunAsUser:                new(int64(1001)),
							AllowPrivilegeEscalation: new(false),
							Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
	return deployment, ctrl.SetControllerReference(mc, deployment, r.Scheme)
}

// labelsFor returns the labels by which the Deployment of mc finds its pods.
func labelsFor(mc *cachev1alpha1.Memcached) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":          "memcached-operator",
		"app.kubernetes.io/managed-by":    "MemcachedController",
		"cache.example.com/memcached-uid": string(mc.UID),
	}
}

// commandFor returns the command line of memcached.
func commandFor(mc *cachev1alpha1.Memcached) []string {
	return []string{"memcached", "--memory-limit=64", "-o", "modern", "-v", "--port=" + strconv.Itoa(int(*mc.Spec.ContainerPort))}
}
