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
	"github.com/example/operator-testbed/e2e/helm"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// chart is the operator's Helm chart.
const chart = "../../operator/dist/chart"

// TestReleases owns the operator, which makes way for two releases of its chart: each in a namespace of its own, for the Memcacheds
// of another namespace.
func TestReleases(t *testing.T) {
	var (
		mark     audit.Mark
		releases []*framework.Scope // each as it is in the namespace that it serves
		homes    []string           // the namespaces of the releases
	)
	memcached.Feature("two releases").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Setup(withWebhooks(func(ctx context.Context, s *framework.Scope) {
			passUnjudged(ctx, s) // by the suite's operator
			stop(ctx, s)
			h := buildHelm(ctx, s)
			mark = s.Mark()
			for _, release := range []string{"first", "second"} {
				within := *s
				within.Namespace = anotherNamespace(ctx, s)
				home := anotherNamespace(ctx, s)
				manifests, err := h.Template(ctx, chart, release, home, "--set=namespaces={"+within.Namespace+"}", "--set=crd.enabled=false")
				if err != nil {
					s.Fatal(err)
				}
				if within.Operator, err = s.Operator.Beside(ctx, release, manifests); err != nil {
					s.Fatal(err)
				}
				s.Cleanup(func() {
					ctx := context.WithoutCancel(ctx)
					if err := errors.Join(within.Operator.RemoveWebhooks(ctx), within.Operator.Stop(ctx)); err != nil {
						s.Error(err)
					}
				})
				releases, homes = append(releases, &within), append(homes, home)
			}
		})).
		Assess("each serve their namespace", func(ctx context.Context, s *framework.Scope) {
			for _, release := range releases {
				within := release.With(s.T)
				mc := create(ctx, within, "cache", 2)
				settled(ctx, within, mc)
				NewWithT(s).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy), "by its webhook")
			}
		}).
		Assess("and no other", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, "cache", 1)
			NewWithT(s).Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy), "a webhook was asked about another namespace")
			for _, within := range releases {
				barrier(ctx, within.With(s.T))
			}
			framework.WaitForNone(ctx, s, &appsv1.DeploymentList{}, client.InNamespace(s.Namespace))
		}).
		Assess("and ask about nothing else", func(_ context.Context, s *framework.Scope) {
			for i, within := range releases {
				user := within.Operator.UserName()
				asked, err := s.Audit.Since(mark, audit.ByUser(user), audit.Not(withinNamespaces(homes[i], within.Namespace)))
				if err != nil {
					s.Fatal(err)
				}
				if len(asked) > 0 {
					s.Errorf("expected no request of %s beyond %s and %s; last seen:\n%s", user, homes[i], within.Namespace, audit.Describe(asked))
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
	h.Kubeconfig = s.Kubeconfig
	return h
}
