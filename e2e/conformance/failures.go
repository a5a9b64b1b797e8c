package conformance

import (
	"context"

	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
	}
	s.must(s.client.Create(ctx, quota))
	s.expect().Object(ctx, quota, gcustom.MakeMatcher(func(seen *corev1.ResourceQuota) (bool, error) {
		return len(seen.Status.Hard) > 0, nil
	}))
	object := s.create(ctx, "cache", 1)
	s.admitsFailure(ctx, object)
	s.must(client.IgnoreNotFound(s.client.Delete(ctx, quota)))
	s.sized(ctx, "cache", 1)
}
