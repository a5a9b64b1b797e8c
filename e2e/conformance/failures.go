package conformance

import (
	"context"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// ForeignDeployment checks that a foreign Deployment of the same name is left alone, and reported.
func (c Checks) ForeignDeployment(ctx context.Context, s *framework.Scope) {
	object := c.New(s.Namespace, s.NewName("taken"), c.several(s), defaultPort)
	foreign := c.deployment(object)
	foreign.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foreign"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "foreign"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "foreign", Image: "example.com/foreign:1"}}},
		},
	}
	must(s, s.Client.Create(ctx, foreign))
	must(s, s.Client.Create(ctx, object))
	c.Barrier(ctx, s)
	seen := c.deployment(object)
	get(ctx, s, seen)
	if seen.UID != foreign.UID || !equality.Semantic.DeepEqual(seen.Spec, foreign.Spec) || len(seen.OwnerReferences) > 0 {
		s.Fatalf("expected the foreign Deployment as it was; last seen: replicas %d, owners %v", *seen.Spec.Replicas, seen.OwnerReferences)
	}
	c.waitForFailure(ctx, s, object, c.Describe().Reasons.Foreign)
}

// Quota checks that a quota that refuses the Deployment is reported, and that the object recovers.
func (c Checks) Quota(ctx context.Context, s *framework.Scope) {
	lift := limit(ctx, s, "count/deployments.apps")
	object := c.create(ctx, s, "refused", smallest)
	c.waitForFailure(ctx, s, object, c.Describe().Reasons.Quota)
	lift()
	c.waitForSize(ctx, s, object, smallest)
}

// RolloutDeadline shortens the Deployment's own deadline, which its controller enforces, while a quota refuses all pods.
func (c Checks) RolloutDeadline(ctx context.Context, s *framework.Scope) {
	lift := limit(ctx, s, "pods")
	object := c.create(ctx, s, "overdue", smallest)
	deployment := c.deployment(object)
	framework.WaitForObject(ctx, s, deployment, gomega.Not(gomega.BeNil()))
	patch(ctx, s, deployment, `{"spec":{"progressDeadlineSeconds":1}}`)
	c.waitForFailure(ctx, s, object, "")
	waitForNotTrue(ctx, s, object, c.Describe().Conditions.Progressing)
	lift()
	c.waitForSettled(ctx, s, object, smallest)
}

// OwnDeadline covers pods that fail after a rollout, when the Deployment's controller no longer watches its deadline. It restarts the
// operator.
func (c Checks) OwnDeadline(ctx context.Context, s *framework.Scope) {
	object := c.create(ctx, s, "late", smallest)
	c.waitForSettled(ctx, s, object, smallest)
	s.RestartAfterwards(ctx)
	must(s, s.Operator.Restart(ctx, runner.WithArgs(c.Describe().DeadlineArgs...)))
	restore := c.crash(ctx, s, object)
	waitForCondition(ctx, s, object, c.Describe().Conditions.Available, metav1.ConditionFalse, "")
	c.waitForFailure(ctx, s, object, "")
	waitForNotTrue(ctx, s, object, c.Describe().Conditions.Progressing)
	restore()
	c.waitForSettled(ctx, s, object, smallest)
}

// Paused pauses the Deployment as `kubectl rollout pause` does. A paused Deployment still scales.
func (c Checks) Paused(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "paused", smallest)
	patch(ctx, s, c.deployment(object), `{"spec":{"paused":true}}`)
	size := c.several(s)
	c.resize(ctx, s, object, size)
	c.waitForSize(ctx, s, object, size)
	c.Barrier(ctx, s) // the operator has seen that
	degraded := c.Describe().Conditions.Degraded
	for _, v := range record.Of(s.Versions(ctx), object.GetUID()) {
		if framework.IsTrue(v.Object, degraded) {
			s.Fatalf("expected no %s=True before a rollout was due; last seen: revision %d says so", degraded, v.Revision)
		}
	}
	port := s.Port()
	change(ctx, s, object, func() { c.SetPort(object, port) })
	c.waitForFailure(ctx, s, object, c.Describe().Reasons.Paused)
	waitForNotTrue(ctx, s, object, c.Describe().Conditions.Progressing)
	patch(ctx, s, c.deployment(object), `{"spec":{"paused":null}}`)
	c.waitForPort(ctx, s, object, port)
	c.waitForSettled(ctx, s, object, size)
}
