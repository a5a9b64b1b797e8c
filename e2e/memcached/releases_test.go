package memcached

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/helm"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// chart is the operator's Helm chart.
const chart = "../../operator/dist/chart"

// chartRelease is a release of the chart, in a namespace of its own, for the Memcacheds of another namespace.
type chartRelease struct {
	operator     *runner.Operator
	home, serves string // namespaces
}

// scope returns the feature's scope in the namespace that the release serves.
func (r chartRelease) scope(s *framework.Scope) *framework.Scope {
	return servedBy(inNamespace(s, r.serves), r.operator)
}

// TestReleases owns the operator, which makes way for two releases of its chart.
func TestReleases(t *testing.T) {
	type releases struct {
		both  []chartRelease
		since audit.Mark // from before they run
	}
	feature := memcached.Feature("two releases").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Setup(needsGo).
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) releases {
		stop(ctx, s)
		passUnchecked(ctx, s) // by the suite's operator
		h := buildHelm(ctx, s)
		two := releases{since: s.Mark()}
		for _, name := range []string{"first", "second"} {
			r := chartRelease{serves: anotherNamespace(ctx, s), home: anotherNamespace(ctx, s)}
			manifests, err := h.Template(ctx, chart, name, r.home, "--set=namespaces={"+r.serves+"}", "--set=crd.enabled=false")
			if err != nil {
				s.Fatal(err)
			}
			if r.operator, err = s.Operator.Beside(ctx, name, manifests); err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() {
				ctx := context.WithoutCancel(ctx)
				if err := errors.Join(r.operator.RemoveWebhooks(ctx), r.operator.Stop(ctx)); err != nil {
					s.Error(err)
				}
			})
			two.both = append(two.both, r)
		}
		return two
	}).
		Assess("each serve their namespace", func(ctx context.Context, s *framework.Scope, two releases) {
			for _, r := range two.both {
				mc := create(ctx, r.scope(s), s.NewName("cache"), s.Size(2, 3))
				settled(ctx, r.scope(s), mc)
				NewWithT(s).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy), "by its webhook")
			}
		}).
		Assess("and no other", func(ctx context.Context, s *framework.Scope, two releases) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			NewWithT(s).Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy), "a webhook was asked about another namespace")
			for _, r := range two.both {
				barrier(ctx, r.scope(s))
			}
			framework.WaitForNone(ctx, s, &appsv1.DeploymentList{}, client.InNamespace(s.Namespace))
		}).
		Assess("and ask about nothing else", func(_ context.Context, s *framework.Scope, two releases) {
			for _, r := range two.both {
				user := r.operator.UserName()
				asked, err := s.Audit.Since(two.since, audit.ByUser(user), audit.Not(withinNamespaces(r.home, r.serves)))
				if err != nil {
					s.Fatal(err)
				}
				if len(asked) > 0 {
					s.Errorf("expected no request of %s beyond %s and %s; last seen:\n%s", user, r.home, r.serves, audit.Describe(asked))
				}
			}
		}).
		TestAlone(t)
}

// withinNamespaces passes requests about objects in the namespaces, and about kinds that are in no namespace.
func withinNamespaces(namespaces ...string) audit.Filter {
	clusterWide := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "tokenreviews", "subjectaccessreviews"}
	return func(e *auditv1.Event) bool {
		return e.ObjectRef == nil || slices.Contains(namespaces, e.ObjectRef.Namespace) || slices.Contains(clusterWide, e.ObjectRef.Resource)
	}
}

// buildHelm returns Helm, which reaches the cluster as an administrator.
func buildHelm(ctx context.Context, s *framework.Scope) helm.Helm {
	s.Helper()
	h, err := helm.Build(ctx, "../..")
	if err != nil {
		s.Fatal(err)
	}
	h.Kubeconfig, h.Cache = s.Kubeconfig, s.TempDir()
	return h
}
