package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// usersSecret is a Secret with that content under a key.
func usersSecret(key, content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "users"},
		Data:       map[string][]byte{key: []byte(content)},
	}
}

// memcachedWithUsers is a Memcached that names that Secret.
func memcachedWithUsers() *cachev1alpha1.Memcached {
	mc := memcachedOfSize(1)
	mc.Spec.AuthSecretRef = &cachev1alpha1.SecretReference{Name: "users"}
	return mc
}

func TestUsersHash(t *testing.T) {
	g := NewWithT(t)
	hashOf := func(secret *corev1.Secret) string {
		hash, err := newReconciler(t, secret).usersHash(t.Context(), memcachedWithUsers())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hash).NotTo(BeEmpty())
		return hash
	}
	annotated := usersSecret(usersKey, "ann:one\n")
	annotated.Annotations, annotated.Data["note"] = map[string]string{"note": "new"}, []byte("new")
	g.Expect(hashOf(annotated)).To(Equal(hashOf(usersSecret(usersKey, "ann:one\n"))), "expected only the users to count")
	g.Expect(hashOf(usersSecret(usersKey, "ann:two\n"))).NotTo(Equal(hashOf(usersSecret(usersKey, "ann:one\n"))))
	g.Expect(newReconciler(t).usersHash(t.Context(), memcachedOfSize(1))).To(BeEmpty(), "expected no hash without a Secret")
}

func TestUsersThatAreMissing(t *testing.T) {
	g := NewWithT(t)
	_, err := newReconciler(t).usersHash(t.Context(), memcachedWithUsers())
	g.Expect(err).To(MatchError(ContainSubstring("users")))
	g.Expect(reasonOf(err)).To(Equal(cachev1alpha1.ReasonSecretMissing))
	_, err = newReconciler(t, usersSecret("passwords", "ann:one\n")).usersHash(t.Context(), memcachedWithUsers())
	g.Expect(err).To(MatchError(ContainSubstring("users")))
	g.Expect(reasonOf(err)).To(Equal(cachev1alpha1.ReasonSecretMissing))
}

func TestMemcachedLetsInTheUsers(t *testing.T) {
	g := NewWithT(t)
	template := desiredDeployment(memcachedWithUsers(), image, "abcd").Spec.Template
	g.Expect(template.Annotations).To(And(HaveKeyWithValue(annotationUsersHash, "abcd"), HaveKeyWithValue(annotationMemcached, "cache")))
	g.Expect(template.Spec.Containers[0].Args).To(HaveExactElements("-p", "11211", "-Y", "/etc/memcached/auth/users"))
	g.Expect(template.Spec.Volumes).To(HaveExactElements(HaveField("Secret.SecretName", HaveValue(Equal("users")))))
}

func TestSecretsWakeTheirMemcacheds(t *testing.T) {
	g := NewWithT(t)
	other := memcachedOfSize(1)
	other.Name = "other"
	elsewhere := memcachedWithUsers()
	elsewhere.Namespace = "elsewhere"
	reconciler := newReconciler(t, memcachedWithUsers(), other, elsewhere)
	g.Expect(reconciler.memcachedsUsing(t.Context(), usersSecret(usersKey, ""))).To(HaveExactElements(HaveField("NamespacedName.String()", "default/cache")))
}
