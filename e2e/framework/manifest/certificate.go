package manifest

import (
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// certificateFlag is what kubebuilder calls the flag of the directory with the certificate of the webhooks.
const certificateFlag = "webhook-cert-path"

// certificates returns where the manager's container expects certificates: see [Manager].
func (m Set) certificates(d *appsv1.Deployment, container *corev1.Container) []string {
	var directories []string
	if directory, given := FlagValue(container.Args, certificateFlag); given {
		directories = append(directories, directory)
	}
	for _, volume := range d.Spec.Template.Spec.Volumes {
		if volume.Secret == nil || slices.ContainsFunc(m.Select("Secret"), func(secret *unstructured.Unstructured) bool {
			return secret.GetNamespace() == d.Namespace && secret.GetName() == volume.Secret.SecretName
		}) {
			continue
		}
		for _, mount := range container.VolumeMounts {
			if mount.Name == volume.Name {
				directories = append(directories, filepath.Clean(mount.MountPath))
			}
		}
	}
	slices.Sort(directories)
	return slices.Compact(directories)
}
