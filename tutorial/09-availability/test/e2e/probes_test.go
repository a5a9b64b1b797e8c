package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestProbes starts the operator where it may not list pods, so that its cache never has them all.
func TestProbes(t *testing.T) {
	stage.Feature("the probes").
		Setup(ownOperator).
		Assess("say that it lives, and is not ready, as long as it does not see the cluster", func(ctx context.Context, s *framework.Scope) {
			s.NeedsAudit()
			giveBack := hidePods(ctx, s)
			mark := s.Mark()
			restart(ctx, s, runner.NotAwaited)
			untilAsked(ctx, s, mark, "that the operator asks for pods in vain", audit.Resource("pods", ""), audit.Code(http.StatusForbidden))
			framework.WaitFor(ctx, s, "without pods", func(ctx context.Context) error { return probe(ctx, s, "/healthz") })
			g := NewWithT(s)
			g.Expect(ready(ctx, s)).To(BeFalse(), "expected that /readyz fails without pods")

			giveBack()
			restart(ctx, s)
			g.Expect(probe(ctx, s, "/readyz")).To(Succeed())
		}).
		TestAlone(t)
}

// hidePods takes the rule about pods off the operator, until giveBack.
func hidePods(ctx context.Context, s *framework.Scope) (giveBack func()) {
	s.Helper()
	before := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator-manager-role"}}
	framework.WaitForObject(ctx, s, before, Not(BeNil()))
	after := before.DeepCopy()
	after.Rules = slices.DeleteFunc(after.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "pods") })
	swap := func(from, to *rbacv1.ClusterRole) {
		if err := s.Client.Patch(context.WithoutCancel(ctx), to.DeepCopy(), client.MergeFrom(from)); err != nil {
			s.Fatal(err)
		}
	}
	swap(before, after)
	s.Cleanup(func() { swap(after, before) })
	return func() { swap(after, before) }
}

// ready reports whether /readyz succeeds. It may also wait for what it needs, until who asks gives up: it has no answer when the
// same server has given many others since.
func ready(ctx context.Context, s *framework.Scope) bool {
	s.Helper()
	const many = 100
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- probe(ctx, s, "/readyz") }()
	for range many {
		if err := probe(ctx, s, "/healthz"); err != nil {
			s.Fatal(err)
		}
		select {
		case err := <-answer:
			return err == nil
		default:
		}
	}
	return false
}

// probe asks the first replica, as a kubelet does.
func probe(ctx context.Context, s *framework.Scope, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Operator.Replicas()[0].HealthAddress()+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("expected that %s succeeds; last seen: %s", path, response.Status)
	}
	return nil
}
