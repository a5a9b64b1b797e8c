package memcached

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestRolloutRestart restarts the pods as "kubectl rollout restart" does: by an annotation of the template, which is not the
// operator's. All pods have the same configuration by the operator, before and after.
func TestRolloutRestart(t *testing.T) {
	feature := memcached.Feature("kubectl rollout restart").
		WithLabel("contract", "1").
		WithLabel("contract", "6")
	framework.Given(feature, created(3, 3)).
		Assess("is reported as one rollout, until the last pod is replaced", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			slowPods(ctx, s, mc)
			barrier(ctx, s)
			deployment := deploymentOf(mc)
			framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
			before, since, mark := podUIDs(ctx, s, deployment), len(s.Versions(ctx)), s.Mark()

			damage(ctx, s, mc, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339)))
			framework.WaitForObjects(ctx, s, podsOfDeployment(deployment, And(HaveLen(len(before)), Not(ContainElement(BeElementOf(before))))))
			settled(ctx, s, mc)
			barrier(ctx, s)

			rolledOutAvailable(ctx, s, mc, since)
			if got, want := progress(s.Versions(ctx)[since:], mc), []string{"True/RollingOut", "False/Converged"}; !slices.Equal(got, want) {
				s.Errorf("Memcached %s: expected Progressing=True throughout the restart, that is %q; last seen: %q", mc.Name, want, got)
			}
			statusWrites := s.Writes(mark, the(mc.Name), audit.Resource("memcacheds", "status"))
			framework.VerifyDistinctWrites(ctx, s, statusWrites)
			// The beginning, the end, and the names of the ready pods whenever one comes or goes.
			framework.VerifyWrites(ctx, s, 2+2*len(before), statusWrites)
		}).
		Assess("and undone by kubectl rollout undo in the same way", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			deployment := deploymentOf(mc)
			framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
			before, since := podUIDs(ctx, s, deployment), len(s.Versions(ctx))
			if err := s.Client.Patch(ctx, deploymentOf(mc), client.RawPatch("application/merge-patch+json",
				[]byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":null}}}}}`)), vandal); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObjects(ctx, s, podsOfDeployment(deployment, And(HaveLen(len(before)), Not(ContainElement(BeElementOf(before))))))
			settled(ctx, s, mc)
			barrier(ctx, s)
			if got, want := progress(s.Versions(ctx)[since:], mc), []string{"True/RollingOut", "False/Converged"}; !slices.Equal(got, want) {
				s.Errorf("Memcached %s: expected Progressing=True throughout, that is %q; last seen: %q", mc.Name, want, got)
			}
		}).
		Test(t)
}

// progress returns what the versions of a Memcached report as Progressing, in the form "True/RollingOut", without repetitions.
func progress(versions []record.Version, mc *cachev1alpha1.Memcached) []string {
	var reported []string
	for _, v := range record.Of(versions, mc.UID) {
		conditions, _ := framework.ConditionsOf(v.Object)
		if condition := meta.FindStatusCondition(conditions, cachev1alpha1.ConditionProgressing); condition != nil {
			reported = append(reported, fmt.Sprintf("%s/%s", condition.Status, condition.Reason))
		}
	}
	return slices.Compact(reported)
}
