package conformance

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func checkFinalizer(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	s.barrier(ctx)
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(object), object))
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		s.Fatalf("expected no finalizer; last seen: %v", finalizers)
	}
}

func deletion(policy metav1.DeletionPropagation) func(context.Context, *scope) {
	return func(ctx context.Context, s *scope) {
		object := s.create(ctx, "cache", 2)
		s.available(ctx, object, 2)
		s.must(s.client.Delete(ctx, object, client.PropagationPolicy(policy)))
		s.nothingLeft(ctx, object)
	}
}

func checkDeletionWhileDown(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 2)
	s.available(ctx, object, 2)
	defer s.operatorAsBefore(ctx)
	s.must(s.operator.Stop(ctx))
	s.must(s.client.Delete(ctx, object))
	s.nothingLeft(ctx, object)
}

func (s *scope) nothingLeft(ctx context.Context, object *unstructured.Unstructured) {
	s.expect().Gone(ctx, object, s.deployment(object.GetName()))
	s.expect().NoneLeft(ctx, &appsv1.ReplicaSetList{}, client.InNamespace(s.namespace))
	s.expect().NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(s.namespace))
}
