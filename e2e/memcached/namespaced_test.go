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
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestNamespaced owns the operator, which makes way for another one: config/namespaced in the feature's namespace, with no right
// beyond it.
func TestNamespaced(t *testing.T) {
	var (
		installed *framework.Scope
		mark      audit.Mark
	)
	memcached.Feature("namespaced").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Setup(func(ctx context.Context, s *framework.Scope) {
			passUnjudged(ctx, s) // there are no webhooks in such an install
			stop(ctx, s)
			manifests := renderNamespaced(s.T, s.Namespace)
			if err := runner.Apply(ctx, s.Client, manifests.Without("Deployment")); err != nil {
				s.Fatal(err)
			}
			manager, err := manifests.Manager()
			if err != nil {
				s.Fatal(err)
			}
			for _, right := range []authorizationv1.ResourceAttributes{
				{Group: cachev1alpha1.GroupVersion.Group, Resource: "memcacheds", Verb: "watch", Namespace: s.Namespace},
				{Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: s.Namespace},
			} {
				untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{User: manager.UserName(), ResourceAttributes: &right}, true)
			}
			mark = s.Mark()
			operator, err := s.Operator.Beside(ctx, "namespaced", manifests)
			if err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() {
				if err := operator.Stop(context.WithoutCancel(ctx)); err != nil {
					s.Error(err)
				}
			})
			within := *s
			within.Operator = operator
			installed = &within
		}).
		Assess("serves its namespace", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, installed, "cache", 1)
			settled(ctx, installed, mc)
			change(ctx, installed, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, installed, mc)
			remove(ctx, installed, deploymentOf(mc))
			settled(ctx, installed, mc)
		}).
		Assess("and no other", func(ctx context.Context, s *framework.Scope) {
			elsewhere := *s
			elsewhere.Namespace = anotherNamespace(ctx, s)
			mc := create(ctx, &elsewhere, "cache", 1)
			barrier(ctx, installed)
			left := &appsv1.DeploymentList{}
			if err := s.Client.List(ctx, left, client.InNamespace(elsewhere.Namespace)); err != nil {
				s.Fatal(err)
			}
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(left.Items).To(BeEmpty(), "what the operator made of the Memcached of another namespace")
			NewWithT(s).Expect(mc.Status.Conditions).To(BeEmpty(), "what the operator says of the Memcached of another namespace")
		}).
		Assess("asks for nothing that it may not have", func(ctx context.Context, s *framework.Scope) {
			asked, err := s.Audit.Since(mark, audit.ByUser(installed.Operator.UserName()))
			if err != nil {
				s.Fatal(err)
			}
			if len(asked) == 0 {
				s.Fatalf("expected requests of %s in the audit log; last seen: none", installed.Operator.UserName())
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

// renderNamespaced renders config/namespaced for another namespace, as its head says how.
func renderNamespaced(t *testing.T, namespace string) runner.Manifests {
	t.Helper()
	overlay, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
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
		err = os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, "namespace: %s\nresources: [%s]\n", namespace, base), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := runner.Render(overlay)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}
