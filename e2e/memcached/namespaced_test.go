package memcached

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// tenant may do in one namespace what the cluster's own role admin allows, and nothing elsewhere.
const tenant = "tenant@example.com"

// TestNamespaced owns the operator, which makes way for another one: config/namespaced in the feature's namespace, with no permission
// beyond it. A tenant installs it, after a cluster administrator has applied config/tenants.
func TestNamespaced(t *testing.T) {
	type namespaced struct {
		operator *runner.Operator
		since    audit.Mark // from before it runs
	}
	feature := memcached.Feature("namespaced").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) namespaced {
		stop(ctx, s)
		passUnchecked(ctx, s) // there are no webhooks in such an install
		manifests := renderNamespaced(s)
		installAsTenant(ctx, s, manifests)
		manager, err := manifests.Manager()
		if err != nil {
			s.Fatal(err)
		}
		for _, permission := range []authorizationv1.ResourceAttributes{
			{Group: cachev1alpha1.GroupVersion.Group, Resource: "memcacheds", Verb: "watch", Namespace: s.Namespace},
			{Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: s.Namespace},
		} {
			untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{User: manager.UserName(), ResourceAttributes: &permission}, true)
		}
		mark := s.Mark()
		operator, err := s.Operator.Beside(ctx, "namespaced", manifests)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := operator.Stop(context.WithoutCancel(ctx)); err != nil {
				s.Error(err)
			}
		})
		return namespaced{operator, mark}
	}).
		Assess("serves its namespace", func(ctx context.Context, s *framework.Scope, n namespaced) {
			s = servedBy(s, n.operator)
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			resize(ctx, s, mc, s.Size(3, 4))
			settled(ctx, s, mc)
			remove(ctx, s, deploymentOf(mc))
			settled(ctx, s, mc)
		}).
		Assess("and no other", func(ctx context.Context, s *framework.Scope, n namespaced) {
			elsewhere := inNamespace(s, anotherNamespace(ctx, s))
			mc := create(ctx, elsewhere, s.NewName("cache"), s.Size(1, 2))
			barrier(ctx, servedBy(s, n.operator))
			left := &appsv1.DeploymentList{}
			if err := s.Client.List(ctx, left, client.InNamespace(elsewhere.Namespace)); err != nil {
				s.Fatal(err)
			}
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(left.Items).To(BeEmpty(), "expected no Deployment for a Memcached of another namespace")
			NewWithT(s).Expect(mc.Status.Conditions).To(BeEmpty(), "expected no status for a Memcached of another namespace")
		}).
		Assess("asks for nothing that it may not have", func(_ context.Context, s *framework.Scope, n namespaced) {
			user := n.operator.UserName()
			asked, err := s.Audit.Since(n.since, audit.ByUser(user))
			if err != nil {
				s.Fatal(err)
			}
			if len(asked) == 0 {
				s.Fatalf("expected requests of %s in the audit log; last seen: none", user)
			}
			var beyond []auditv1.Event
			for i := range asked {
				ref := asked[i].ObjectRef
				if audit.Forbidden(&asked[i]) || ref != nil && ref.Namespace != s.Namespace {
					beyond = append(beyond, asked[i])
				}
			}
			if len(beyond) > 0 {
				s.Errorf("expected no request that is refused or beyond the namespace %s; last seen:\n%s", s.Namespace, audit.Describe(beyond))
			}
		}).
		TestAlone(t)
}

// installAsTenant applies the manifests as a tenant, who is refused until a cluster administrator has applied config/tenants. The
// Deployment is only tried, because the operator runs as a process.
func installAsTenant(ctx context.Context, s *framework.Scope, manifests manifest.Set) {
	s.Helper()
	asTenant := impersonating(s, tenant)
	add(ctx, s, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: tenant},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: tenant}},
	})
	// The tenant's permissions before are those of an admin, who may create roles.
	for _, resource := range []string{"roles", "deployments"} {
		group := map[string]string{"roles": rbacv1.GroupName, "deployments": appsv1.GroupName}[resource]
		untilMay(ctx, s, tenant, group, resource, "", "create")
	}
	err := install.Apply(ctx, asTenant, manifests.Without("Deployment"))
	NewWithT(s).Expect(apierrors.IsForbidden(err)).To(BeTrue(), "expected that the tenant may not grant the operator's permissions yet; last seen: %v", err)

	directory, err := memcached.Manifests("../../operator/config/tenants")
	if err != nil {
		s.Fatal(err)
	}
	once, err := manifest.Render(directory)
	if err != nil {
		s.Fatal(err)
	}
	roles := once.Without("CustomResourceDefinition") // which is there
	if err := install.Apply(ctx, s.Client, roles); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		for _, role := range roles {
			if err := client.IgnoreNotFound(s.Client.Delete(context.WithoutCancel(ctx), role)); err != nil {
				s.Error(err)
			}
		}
	})
	// The cluster adds them to the role admin a moment later.
	untilMay(ctx, s, tenant, cachev1alpha1.GroupVersion.Group, "memcacheds", "status", "patch")
	untilMay(ctx, s, tenant, cachev1alpha1.GroupVersion.Group, "memcacheds", "finalizers", "update")
	if err := install.Apply(ctx, asTenant, manifests.Without("Deployment")); err != nil {
		s.Fatalf("installing as a tenant: %v", err)
	}
	if err := install.Apply(ctx, client.NewDryRunClient(asTenant), manifests.Select("Deployment")); err != nil {
		s.Fatalf("installing as a tenant: %v", err)
	}
}

// impersonating returns a client that acts as a user without groups.
func impersonating(s *framework.Scope, user string) client.Client {
	s.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// untilMay waits until a user may do something in the feature's namespace.
func untilMay(ctx context.Context, s *framework.Scope, user, group, resource, subresource, verb string) {
	s.Helper()
	untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: s.Namespace, Group: group, Resource: resource, Subresource: subresource, Verb: verb,
	}}, true)
}

// renderNamespaced renders config/namespaced for the feature's namespace, in the way that the comment at its top describes.
func renderNamespaced(s *framework.Scope) manifest.Set {
	s.Helper()
	overlay, err := filepath.EvalSymlinks(s.TempDir())
	if err != nil {
		s.Fatal(err)
	}
	base, err := memcached.Manifests("../../operator/config/namespaced")
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err == nil {
		base, err = filepath.Rel(overlay, base) // kustomize takes no other path
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, "namespace: %s\nresources: [%s]\n", s.Namespace, base), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
	manifests, err := manifest.Render(overlay)
	if err != nil {
		s.Fatal(err)
	}
	return manifests
}
