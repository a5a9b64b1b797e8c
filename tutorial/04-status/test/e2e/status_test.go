package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

func TestNodes(t *testing.T) {
	framework.Given(stage.Feature("nodes"), created(3, 5)).
		Assess("are the ready pods", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			pods := &corev1.PodList{}
			NewWithT(s).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace))).To(Succeed())
			var names []string // as the API server sorts them
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", Equal(names)))
		}).
		Assess("follow a pod that is replaced", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: mc.Status.Nodes[0]}}
			NewWithT(s).Expect(s.Client.Delete(ctx, lost)).To(Succeed())
			framework.WaitForObject(ctx, s, mc, HaveField("Status.Nodes", And(HaveLen(int(*mc.Spec.Size)), Not(ContainElement(lost.Name)))))
			settled(ctx, s, mc)
		}).
		Assess("and never was it Available too early", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			truthful(ctx, s, mc)
		}).
		Test(t)
}

func TestAvailable(t *testing.T) {
	framework.Given(stage.Feature("Available"), created(1, 2)).
		Assess("becomes true", settled).
		Assess("is about the spec as it is now", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			// A Deployment takes a quarter of its pods away at once in a rollout: none of up to three, one of four.
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(*spec.Size+1, 3)) })
			settled(ctx, s, mc)
			truthful(ctx, s, mc)
		}).
		Assess("stays true while pods are replaced, and none is missing", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			since := len(s.Versions(ctx))
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			settled(ctx, s, mc)
			for _, version := range record.Of(s.Versions(ctx)[since:], mc.UID) {
				NewWithT(s).Expect(framework.IsTrue(version.Object, cachev1alpha1.ConditionAvailable)).To(BeTrue(), "expected it to stay Available")
			}
		}).
		Test(t)
}

// TestProgressing reads what was recorded, because a status that was wrong for a moment can't be seen afterwards.
func TestProgressing(t *testing.T) {
	framework.Given(stage.Feature("Progressing"), created(1, 3)).
		Setup(settled).
		Assess("is true until every pod has the new port", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			port := s.Port()
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = &port })
			settled(ctx, s, mc)
			versions := s.Versions(ctx)
			for _, version := range record.Of(versions, mc.UID) {
				if !claimsConverged(s, version, mc.Generation) {
					continue
				}
				if serving := podsWithPort(s, record.Before(versions, "Pod", version.Revision), port); serving < int(*mc.Spec.Size) {
					s.Errorf("expected no untrue Progressing=False; last seen: revision %d says so: of %d pods, %d have the new port", version.Revision, *mc.Spec.Size, serving)
				}
			}
		}).
		Test(t)
}

// claimsConverged reports whether a version's status claims that the rollout of that generation is complete.
func claimsConverged(s *framework.Scope, version record.Version, generation int64) bool {
	s.Helper()
	conditions, err := framework.ConditionsOf(version.Object)
	if err != nil {
		s.Fatal(err)
	}
	progressing := meta.FindStatusCondition(conditions, cachev1alpha1.ConditionProgressing)
	return progressing != nil && progressing.Status == metav1.ConditionFalse && progressing.ObservedGeneration == generation
}

// podsWithPort returns how many of the pods are ready, and declare that port.
func podsWithPort(s *framework.Scope, pods []*unstructured.Unstructured, port int32) int {
	s.Helper()
	count := 0
	for _, object := range pods {
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
			s.Fatal(err)
		}
		if framework.IsReady(object) && pod.Spec.Containers[0].Ports[0].ContainerPort == port {
			count++
		}
	}
	return count
}

// truthful fails the test if the Memcached ever reported Available=True while fewer pods than its size were ready.
func truthful(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	for _, early := range framework.Early(s.Versions(ctx), mc.UID, cachev1alpha1.ConditionAvailable, "spec.size", framework.ReadyPods) {
		s.Errorf("expected no untrue Available=True; last seen: %s", early)
	}
}
