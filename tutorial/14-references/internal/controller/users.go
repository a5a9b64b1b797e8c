package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

const (
	// usersKey is the key of a Secret under which the users are, and the name of the file that memcached gets.
	usersKey = "users"

	// usersDirectory is where the Secret is mounted.
	usersDirectory = "/etc/memcached/auth"

	// annotationUsersHash is on pods that were started with users. It differs for different users.
	annotationUsersHash = "cache.example.com/users-hash"
)

// usersHash returns a hash of the users that memcached lets in, or "" if mc names no Secret.
func (r *MemcachedReconciler) usersHash(ctx context.Context, mc *cachev1alpha1.Memcached) (string, error) {
	if mc.Spec.AuthSecretRef == nil {
		return "", nil
	}
	name, secret := mc.Spec.AuthSecretRef.Name, &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return "", failure{cachev1alpha1.ReasonSecretMissing, fmt.Errorf("the Secret %q does not exist", name)}
	}
	if err != nil {
		return "", err
	}
	users := secret.Data[usersKey]
	if len(users) == 0 {
		return "", failure{cachev1alpha1.ReasonSecretMissing, fmt.Errorf("the Secret %q has no key %q", name, usersKey)}
	}
	sum := sha256.Sum256(users)
	return hex.EncodeToString(sum[:8]), nil
}

// withUsers makes the memcached of a pod template let in only the users in the Secret. memcached reads the file when it starts. The hash
// changes the template when the users change, so that new pods replace the old ones.
func withUsers(template *accorev1.PodTemplateSpecApplyConfiguration, secret, hash string) {
	template.WithAnnotations(map[string]string{annotationUsersHash: hash})
	template.Spec.WithVolumes(accorev1.Volume().
		WithName(usersKey).
		WithSecret(accorev1.SecretVolumeSource().
			WithSecretName(secret).
			WithItems(accorev1.KeyToPath().WithKey(usersKey).WithPath(usersKey))))
	template.Spec.Containers[0].
		WithArgs("-Y", path.Join(usersDirectory, usersKey)).
		WithVolumeMounts(accorev1.VolumeMount().WithName(usersKey).WithMountPath(usersDirectory).WithReadOnly(true))
}
