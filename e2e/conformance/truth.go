package conformance

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
)

func checkSize(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.sized(ctx, "cache", 1)
	for _, size := range []int64{3, 5, 1} {
		s.change(ctx, object, func() { s.mapping.setSize(object, size) })
		s.sized(ctx, "cache", int32(size))
	}
}

func checkRisingEdge(ctx context.Context, s *scope) {
	const size = 3
	object := s.create(ctx, "cache", size)
	s.available(ctx, object, size)
	versions, err := s.history.CaughtUp(ctx)
	s.must(err)
	s.history.Stop()
	for _, v := range history.Of(versions, object.GetUID()) {
		conditions, err := expect.ConditionsOf(v.Object)
		s.must(err)
		if !meta.IsStatusConditionTrue(conditions, s.mapping.Conditions.Available) {
			continue
		}
		if ready := readyPods(history.Before(versions, "Pod", v.Revision)); ready < size {
			s.Fatalf("expected no %s=True before %d pods were ready; seen with %d ready ones", s.mapping.Conditions.Available, size, ready)
		}
	}
}

func readyPods(pods []*unstructured.Unstructured) int {
	ready := 0
	for _, pod := range pods {
		conditions, err := expect.ConditionsOf(pod)
		if err == nil && pod.GetDeletionTimestamp() == nil && meta.IsStatusConditionTrue(conditions, string(corev1.PodReady)) {
			ready++
		}
	}
	return ready
}

func checkFallingEdge(ctx context.Context, s *scope) {
	const size = 2
	object := s.create(ctx, "cache", size)
	s.available(ctx, object, size)
	var pods corev1.PodList
	s.must(s.client.List(ctx, &pods, client.InNamespace(s.namespace)))
	for i := range pods.Items {
		crash := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"testbed.example.com/simulate":"crashloop"}}}`))
		s.must(s.client.Patch(ctx, &pods.Items[i], crash))
	}
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionFalse)
	s.admitsFailure(ctx, object)
}

func checkObservedGeneration(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.expect().Condition(ctx, object, expect.Condition{Type: s.mapping.Conditions.Available, Status: metav1.ConditionTrue})
	s.change(ctx, object, func() { s.mapping.setSize(object, 2) })
	s.expect().Condition(ctx, object, expect.Condition{Type: s.mapping.Conditions.Available, Status: metav1.ConditionTrue})
}
