package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// neighbors are Memcacheds in one namespace.
type neighbors struct {
	secret *corev1.Secret
	users  []*cachev1alpha1.Memcached // which use the Secret
	other  *cachev1alpha1.Memcached   // which uses another one
}

func TestSecret(t *testing.T) {
	given := func(ctx context.Context, s *framework.Scope) neighbors {
		n := neighbors{secret: createSecret(ctx, s, s.NewName("users"))}
		for range 2 {
			n.users = append(n.users, create(ctx, s, s.NewName("cache"), using(n.secret.Name)))
		}
		n.other = create(ctx, s, s.NewName("other"), using(createSecret(ctx, s, s.NewName("users")).Name))
		return n
	}
	generations := func(ctx context.Context, s *framework.Scope, n neighbors) (counted []int64) {
		for _, mc := range n.users {
			counted = append(counted, generationOf(ctx, s, mc))
		}
		return counted
	}
	framework.Given(stage.Feature("the Secret"), given).
		Assess("reaches memcached as a file", func(ctx context.Context, s *framework.Scope, n neighbors) {
			for _, mc := range append(n.users, n.other) {
				settled(ctx, s, mc)
				framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Template.Spec", And(
					HaveField("Containers", ContainElement(HaveField("Args", ContainElements("-Y", "/etc/memcached/auth/users")))),
					HaveField("Volumes", ContainElement(HaveField("Secret.SecretName", mc.Spec.AuthSecretRef.Name))),
				)))
			}
		}).
		Assess("rolls out once when its users change, and only for those who use it", func(ctx context.Context, s *framework.Scope, n neighbors) {
			settled(ctx, s, create(ctx, s, s.NewName("before")))
			before, mark := generations(ctx, s, n), s.Mark()
			changePassword(ctx, s, n.secret)
			for i, mc := range n.users {
				framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Generation", BeNumerically(">", before[i])))
				settled(ctx, s, mc)
			}
			rest(ctx, s)
			for i, after := range generations(ctx, s, n) {
				NewWithT(s).Expect(after).To(Equal(before[i]+1), "expected one rollout for each Memcached that uses the Secret")
			}
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.About(n.other.Name)))
		}).
		Assess("does not roll out when anything else of it changes", func(ctx context.Context, s *framework.Scope, n neighbors) {
			before := generations(ctx, s, n)
			merge(ctx, s, n.secret, `{"metadata":{"annotations":{"example.com/note":"new"}}}`)
			rest(ctx, s)
			NewWithT(s).Expect(generations(ctx, s, n)).To(Equal(before), "expected no rollout when the users stay the same")
		}).
		Test(t)
}

func TestSecretMissing(t *testing.T) {
	withoutSecret := func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return create(ctx, s, s.NewName("cache"), using(s.NewName("users")))
	}
	framework.Given(stage.Feature("a missing Secret"), withoutSecret).
		Assess("is reported, and no pod runs without it", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			missing := secretMissing
			missing.Message = mc.Spec.AuthSecretRef.Name
			framework.WaitForConditions(ctx, s, mc, missing)
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(mc), deploymentOf(mc))
			NewWithT(s).Expect(apierrors.IsNotFound(err)).To(BeTrue(), "expected no Deployment that accepts every client; last seen: %v", err)
		}).
		Assess("is no longer missing when it is created", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			createSecret(ctx, s, mc.Spec.AuthSecretRef.Name)
			settled(ctx, s, mc)
		}).
		Assess("leaves the pods that run as they are", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			before := generationOf(ctx, s, mc)
			secret := &corev1.Secret{}
			secret.Namespace, secret.Name = mc.Namespace, mc.Spec.AuthSecretRef.Name
			deleteObject(ctx, s, secret)
			framework.WaitForConditions(ctx, s, mc, available, secretMissing)
			NewWithT(s).Expect(generationOf(ctx, s, mc)).To(Equal(before), "expected no rollout without the Secret")
			createSecret(ctx, s, secret.Name)
			settled(ctx, s, mc)
		}).
		Test(t)
}
