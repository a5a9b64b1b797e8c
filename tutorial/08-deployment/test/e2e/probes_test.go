package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
)

// TestProbes starts the operator where it may not list pods, so that its cache never has them all.
func TestProbes(t *testing.T) {
	stage.TestAlone(t, features.New("the probes").
		Setup(suite.Step(ownOperator)).
		Assess("say that it lives, and is not ready, as long as it does not see the cluster", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsAudit(t)
			giveBack := hidePods(ctx, t, s)
			mark := s.Mark(t)
			restart(ctx, t, s, runner.NotAwaited)
			untilAsked(ctx, t, s, mark, "that the operator asks for pods in vain", audit.Resource("pods", ""), audit.Code(http.StatusForbidden))
			g := NewWithT(t)
			g.Expect(probe(ctx, t, s, "/healthz")).To(BeTrue(), "expected that /healthz succeeds without pods")
			g.Expect(probe(ctx, t, s, "/readyz")).To(BeFalse(), "expected that /readyz fails without pods")

			giveBack()
			restart(ctx, t, s)
			g.Expect(probe(ctx, t, s, "/readyz")).To(BeTrue())
		})).
		Feature())
}

// hidePods takes the rule about pods off the operator, until giveBack.
func hidePods(ctx context.Context, t *testing.T, s *suite.Scope) (giveBack func()) {
	t.Helper()
	before := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator-manager-role"}}
	s.Expect(t).Object(ctx, before, Not(BeNil()))
	after := before.DeepCopy()
	after.Rules = slices.DeleteFunc(after.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "pods") })
	swap := func(from, to *rbacv1.ClusterRole) {
		if err := s.Client.Patch(context.WithoutCancel(ctx), to.DeepCopy(), client.MergeFrom(from)); err != nil {
			t.Fatal(err)
		}
	}
	swap(before, after)
	t.Cleanup(func() { swap(after, before) })
	return func() { swap(after, before) }
}

// patience is how long a probe waits for an answer. Kubelets wait for a second, unless told otherwise.
const patience = 2 * time.Second

// probe returns whether the first replica says yes in time, as a kubelet asks it.
func probe(ctx context.Context, t *testing.T, s *suite.Scope, path string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Operator.Replicas()[0].HealthAddress()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
