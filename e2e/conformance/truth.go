package conformance

import (
	"context"
	"slices"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework"
)

// Size checks that the Deployment follows the size.
func (c Checks) Size(ctx context.Context, s *framework.Scope) {
	object := c.create(ctx, s, "size", smallest)
	c.waitForSize(ctx, s, object, smallest)
	most := c.Describe().within(largest)
	between := s.Size(smallest+1, max(smallest+1, most-1))
	for _, size := range slices.Compact([]int32{between, most, between, smallest}) {
		c.resize(ctx, s, object, size)
		c.waitForSize(ctx, s, object, size)
	}
}

// AvailableNotEarly prevents pods from starting until the operator has had a chance to report Available too early: until it has served
// another object, which was created and deleted meanwhile.
func (c Checks) AvailableNotEarly(ctx context.Context, s *framework.Scope) {
	size := c.several(s)
	lift := limit(ctx, s, "pods")
	object := c.create(ctx, s, "early", size)
	framework.WaitForObject(ctx, s, c.deployment(object), gomega.HaveField("Status.UnavailableReplicas", gomega.BeEquivalentTo(size)))
	other := c.create(ctx, s, "other", smallest)
	framework.WaitForObject(ctx, s, c.deployment(other), gomega.Not(gomega.BeNil()))
	c.remove(ctx, s, other)
	lift()
	c.waitForAvailable(ctx, s, object, size)
	for _, early := range c.early(ctx, s, object, framework.ReadyPods) {
		s.Fatalf("expected no %s=True before %d pods were ready; last seen: %s", c.Describe().Conditions.Available, size, early)
	}
}

// DeploymentAgrees pauses the Deployment's controller while a pod becomes ready again, so that the order does not depend on speed: until
// the controller continues, the Deployment has not counted that pod. It restarts the operator, and no other feature may use the cluster at
// the same time.
func (c Checks) DeploymentAgrees(ctx context.Context, s *framework.Scope) {
	object, other := c.created(ctx, s, "uncounted", smallest), c.created(ctx, s, "other", smallest)
	restore := c.crash(ctx, s, object)
	waitForCondition(ctx, s, object, c.Describe().Conditions.Available, metav1.ConditionFalse, "")
	framework.WaitForObject(ctx, s, c.deployment(object), gomega.HaveField("Status.ReadyReplicas", gomega.BeZero()))
	c.Barrier(ctx, s) // the operator has seen that
	get(ctx, s, object)
	since := revision(s, object)

	s.Control(ctx, cluster.KubeControllerManager, cluster.Pause)
	restore()
	// An operator may delay its reaction to a pod that becomes ready. After a restart, it reconciles every object at once, and has
	// done so when it has reacted to two changes, one after the other.
	must(s, s.Operator.Restart(ctx))
	for _, size := range []int32{c.several(s), smallest} {
		c.resize(ctx, s, other, size)
		framework.WaitForObject(ctx, s, c.deployment(other), gomega.HaveField("Spec.Replicas", gomega.HaveValue(gomega.BeEquivalentTo(size))))
	}
	s.Control(ctx, cluster.KubeControllerManager, cluster.Resume)
	c.waitForAvailable(ctx, s, object, smallest)

	for _, early := range c.early(ctx, s, object, framework.CountedBy(c.deployment(object).Name)) {
		if early.Revision > since {
			s.Fatalf("expected no %s=True before the Deployment counted 1 pod as ready; last seen: %s", c.Describe().Conditions.Available, early)
		}
	}
}

func (c Checks) early(ctx context.Context, s *framework.Scope, object client.Object, ready framework.Count) []framework.Claim {
	return framework.Early(c.versions(ctx, s, object), object.GetUID(), c.Describe().Conditions.Available, c.Describe().Fields.Size, ready)
}

// FailureShows checks that an object whose pods crash is not available.
func (c Checks) FailureShows(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "crashing", c.several(s))
	restore := c.crash(ctx, s, object)
	waitForCondition(ctx, s, object, c.Describe().Conditions.Available, metav1.ConditionFalse, "")
	c.waitForFailure(ctx, s, object, "")
	restore()
}

// ObservedGeneration checks that conditions say which generation they are about.
func (c Checks) ObservedGeneration(ctx context.Context, s *framework.Scope) {
	conditions := []framework.Condition{{Type: c.Describe().Conditions.Available, Status: metav1.ConditionTrue}}
	if progressing := c.Describe().Conditions.Progressing; progressing != "" {
		conditions = append(conditions, framework.Condition{Type: progressing, Status: metav1.ConditionFalse})
	}
	object := c.create(ctx, s, "generation", smallest)
	framework.WaitForConditions(ctx, s, object, conditions...)
	c.resize(ctx, s, object, c.several(s))
	framework.WaitForConditions(ctx, s, object, conditions...)
}
