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
		if !m.lacks(d, volume) {
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

// lacks reports whether a volume of the manager's pod is a Secret that the manifests lack.
func (m Set) lacks(d *appsv1.Deployment, volume corev1.Volume) bool {
	return volume.Secret != nil && !slices.ContainsFunc(m.Select("Secret"), func(secret *unstructured.Unstructured) bool {
		return secret.GetNamespace() == d.Namespace && secret.GetName() == volume.Secret.SecretName
	})
}

// missingSecrets returns the names of the Secrets that the manager's pod mounts and that the manifests lack.
func (m Set) missingSecrets(d *appsv1.Deployment) (names []string) {
	for _, volume := range d.Spec.Template.Spec.Volumes {
		if m.lacks(d, volume) && !slices.Contains(names, volume.Secret.SecretName) {
			names = append(names, volume.Secret.SecretName)
		}
	}
	return names
}
