package conformance

import (
	"context"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
)

func checkSize(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.sized(ctx, "cache", 1)
	for _, size := range []int64{3, 5, 1} {
		s.change(ctx, object, func() { s.mapping.setSize(object, size) })
		s.sized(ctx, "cache", int32(size))
	}
}

// checkRisingEdge lets no pod in until the operator has had its chance to be early: until it has served, and let go, another object.
func checkRisingEdge(ctx context.Context, s *scope) {
	const size = 3
	lift := s.limit(ctx, "pods")
	object := s.create(ctx, "cache", size)
	s.expect().Object(ctx, s.deployment("cache"), gomega.HaveField("Status.UnavailableReplicas", gomega.BeEquivalentTo(size)))
	other := s.create(ctx, "other", 1)
	s.expect().Object(ctx, s.deployment("other"), gomega.Not(gomega.BeNil()))
	s.must(s.client.Delete(ctx, other))
	s.expect().Gone(ctx, other, s.deployment("other"))
	lift()
	s.available(ctx, object, size)
	for _, early := range s.early(ctx, object, framework.ReadyPods) {
		s.Fatalf("expected no %s=True before %d pods were ready; last seen: %s", s.mapping.Conditions.Available, size, early)
	}
}

// checkDeploymentAgrees holds the Deployment's controller while a pod gets ready again, so that it makes no difference how fast
// anybody is: until the controller goes on, the Deployment has not counted that pod.
func checkDeploymentAgrees(ctx context.Context, s *scope) {
	object, other := s.create(ctx, "cache", 1), s.create(ctx, "other", 1)
	s.available(ctx, object, 1)
	s.available(ctx, other, 1)
	restore := s.crash(ctx, "cache")
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionFalse)
	s.expect().Object(ctx, s.deployment("cache"), gomega.HaveField("Status.ReadyReplicas", gomega.BeZero()))
	s.barrier(ctx) // the operator has seen that
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(object), object))
	since := s.revision(object)

	processes := s.cluster.Supervisor()
	s.must(processes.Pause(ctx, embedded.KubeControllerManager))
	defer func() { s.alsoFails(processes.Resume(context.WithoutCancel(ctx), embedded.KubeControllerManager)) }()
	restore()
	// An operator may delay its reaction to a pod that becomes ready. After a restart, it reconciles every object at once, and has
	// done so when it has reacted to two changes, one after the other.
	s.must(s.operator.Restart(ctx))
	for _, size := range []int64{2, 3} {
		s.change(ctx, other, func() { s.mapping.setSize(other, size) })
		s.expect().Object(ctx, s.deployment("other"), gomega.HaveField("Spec.Replicas", gomega.HaveValue(gomega.BeEquivalentTo(size))))
	}
	s.must(processes.Resume(ctx, embedded.KubeControllerManager))
	s.available(ctx, object, 1)

	for _, early := range s.early(ctx, object, framework.CountedBy(s.deployment("cache").Name)) {
		if early.Revision > since {
			s.Fatalf("expected no %s=True before the Deployment counted 1 pod as ready; last seen: %s", s.mapping.Conditions.Available, early)
		}
	}
}

func (s *scope) early(ctx context.Context, object *unstructured.Unstructured, ready framework.Count) []framework.Claim {
	return framework.Early(s.versions(ctx), object.GetUID(), s.mapping.Conditions.Available, s.mapping.Fields.Size, ready)
}

func checkFallingEdge(ctx context.Context, s *scope) {
	const size = 2
	object := s.create(ctx, "cache", size)
	s.available(ctx, object, size)
	s.crash(ctx, "cache")
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionFalse)
	s.admitsFailure(ctx, object)
}

func checkObservedGeneration(ctx context.Context, s *scope) {
	conditions := []framework.Condition{{Type: s.mapping.Conditions.Available, Status: metav1.ConditionTrue}}
	if s.mapping.Conditions.Progressing != "" {
		conditions = append(conditions, framework.Condition{Type: s.mapping.Conditions.Progressing, Status: metav1.ConditionFalse})
	}
	object := s.create(ctx, "cache", 1)
	s.expect().Condition(ctx, object, conditions...)
	s.change(ctx, object, func() { s.mapping.setSize(object, 2) })
	s.expect().Condition(ctx, object, conditions...)
}
