package conformance

import (
	"context"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

func checkStranger(ctx context.Context, s *scope) {
	stranger := s.deployment("cache")
	stranger.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "stranger"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "stranger"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "stranger", Image: "example.com/stranger:1"}}},
		},
	}
	s.must(s.client.Create(ctx, stranger))
	object := s.create(ctx, "cache", 2)
	s.barrier(ctx)
	seen := s.deployment("cache")
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(seen), seen))
	if seen.UID != stranger.UID || !equality.Semantic.DeepEqual(seen.Spec, stranger.Spec) || len(seen.OwnerReferences) > 0 {
		s.Fatalf("expected the stranger as it was; last seen: replicas %d, owners %v", *seen.Spec.Replicas, seen.OwnerReferences)
	}
	s.admitsFailure(ctx, object)
}

func checkQuota(ctx context.Context, s *scope) {
	lift := s.limit(ctx, "count/deployments.apps")
	object := s.create(ctx, "cache", 1)
	s.admitsFailure(ctx, object)
	lift()
	s.sized(ctx, "cache", 1)
}

// checkRolloutDeadline shortens the Deployment's own deadline, which its controller keeps, while a quota lets no pod in.
func checkRolloutDeadline(ctx context.Context, s *scope) {
	lift := s.limit(ctx, "pods")
	object := s.create(ctx, "cache", 1)
	deployment := s.deployment("cache")
	s.expect().Object(ctx, deployment, gomega.Not(gomega.BeNil()))
	s.patch(ctx, deployment, `{"spec":{"progressDeadlineSeconds":1}}`)
	s.admitsFailure(ctx, object)
	s.doesNotSay(ctx, object, s.mapping.Conditions.Progressing)
	lift()
	s.settled(ctx, object, 1)
}

// checkOwnDeadline is about pods that fail when the Deployment's controller no longer looks: it does so in rollouts only.
func checkOwnDeadline(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.settled(ctx, object, 1)
	defer s.operatorAsBefore(ctx)
	s.must(s.operator.Restart(ctx, runner.WithArgs(s.mapping.DeadlineArgs...)))
	restore := s.crash(ctx, "cache")
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionFalse)
	s.admitsFailure(ctx, object)
	s.doesNotSay(ctx, object, s.mapping.Conditions.Progressing)
	restore()
	s.settled(ctx, object, 1)
}

// checkPaused pauses the Deployment as `kubectl rollout pause` does. It still scales.
func checkPaused(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	s.patch(ctx, s.deployment("cache"), `{"spec":{"paused":true}}`)
	s.change(ctx, object, func() { s.mapping.setSize(object, 2) })
	s.sized(ctx, "cache", 2)
	s.barrier(ctx) // the operator has seen that
	for _, v := range record.Of(s.versions(ctx), object.GetUID()) {
		if framework.IsTrue(v.Object, s.mapping.Conditions.Degraded) {
			s.Fatalf("expected no %s=True before a rollout was due; last seen: revision %d says so", s.mapping.Conditions.Degraded, v.Revision)
		}
	}
	s.change(ctx, object, func() { s.mapping.setPort(object, otherPort) })
	s.admitsFailure(ctx, object)
	s.doesNotSay(ctx, object, s.mapping.Conditions.Progressing)
	s.patch(ctx, s.deployment("cache"), `{"spec":{"paused":null}}`)
	s.listens(ctx, otherPort)
	s.settled(ctx, object, 2)
}

// limit has a quota allow none of a resource, and returns when it is in force. It is lifted by lift.
func (s *scope) limit(ctx context.Context, name corev1.ResourceName) (lift func()) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("0")}},
	}
	s.must(s.client.Create(ctx, quota))
	s.expect().Object(ctx, quota, gcustom.MakeMatcher(func(seen *corev1.ResourceQuota) (bool, error) {
		return len(seen.Status.Hard) > 0, nil
	}))
	return func() { s.must(client.IgnoreNotFound(s.client.Delete(ctx, quota))) }
}
