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
	"sigs.k8s.io/e2e-framework/pkg/features"

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
	memcached.TestAlone(t, features.New("two releases").
		WithLabel("contract", "9").
		WithLabel("disruptive", "operator").
		Setup(framework.Step(ownOperator)).
		Setup(framework.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			passUnjudged(ctx, t, s) // by the suite's operator
			stop(ctx, t, s)
			h := buildHelm(ctx, t, s)
			mark = s.Mark(t)
			for _, release := range []string{"first", "second"} {
				within := *s
				within.Namespace = anotherNamespace(ctx, t, s)
				home := anotherNamespace(ctx, t, s)
				manifests, err := h.Template(ctx, chart, release, home, "--set=namespaces={"+within.Namespace+"}", "--set=crd.enabled=false")
				if err != nil {
					t.Fatal(err)
				}
				if within.Operator, err = s.Operator.Beside(ctx, release, manifests); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					ctx := context.WithoutCancel(ctx)
					if err := errors.Join(within.Operator.RemoveWebhooks(ctx), within.Operator.Stop(ctx)); err != nil {
						t.Error(err)
					}
				})
				releases, homes = append(releases, &within), append(homes, home)
			}
		}))).
		Assess("each serve their namespace", framework.Step(func(ctx context.Context, t *testing.T, _ *framework.Scope) {
			for _, within := range releases {
				mc := create(ctx, t, within, "cache", 2)
				settled(ctx, t, within, mc)
				NewWithT(t).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy), "by its webhook")
			}
		})).
		Assess("and no other", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			NewWithT(t).Expect(mc.Annotations).NotTo(HaveKey(cachev1alpha1.AnnotationRequestedBy), "a webhook was asked about another namespace")
			for _, within := range releases {
				barrier(ctx, t, within)
			}
			s.Expect(t).NoneLeft(ctx, &appsv1.DeploymentList{}, client.InNamespace(s.Namespace))
		})).
		Assess("and ask about nothing else", framework.Step(func(_ context.Context, t *testing.T, s *framework.Scope) {
			for i, within := range releases {
				user := within.Operator.UserName()
				asked, err := s.Audit.Since(mark, audit.ByUser(user), audit.Not(withinNamespaces(homes[i], within.Namespace)))
				if err != nil {
					t.Fatal(err)
				}
				if len(asked) > 0 {
					t.Errorf("expected no request of %s beyond %s and %s; last seen:\n%s", user, homes[i], within.Namespace, audit.Describe(asked))
				}
			}
		})).
		Feature())
}

// withinNamespaces passes requests about objects in the namespaces, and about kinds that are in no namespace.
func withinNamespaces(namespaces ...string) audit.Filter {
	clusterWide := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "tokenreviews", "subjectaccessreviews"}
	return func(e *auditv1.Event) bool {
		return e.ObjectRef == nil || slices.Contains(namespaces, e.ObjectRef.Namespace) || slices.Contains(clusterWide, e.ObjectRef.Resource)
	}
}

// buildHelm returns Helm, which reaches the cluster as an administrator.
func buildHelm(ctx context.Context, t *testing.T, s *framework.Scope) helm.Helm {
	t.Helper()
	h, err := helm.Build(ctx, "../..")
	if err != nil {
		t.Fatal(err)
	}
	h.Kubeconfig = s.Kubeconfig
	return h
}
