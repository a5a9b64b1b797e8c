package memcached

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestOutage owns the cluster. An operator that runs goes on when the API server is back, and needs no restart.
func TestOutage(t *testing.T) {
	var mc *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("outage").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(ownOperator)).
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
		})).
		Assess("the API server is killed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			if err := s.Component(t, embedded.KubeAPIServer).Kill(ctx); err != nil {
				t.Fatal(err)
			}
			answers(ctx, t, s)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
			settled(ctx, t, s, mc)
			mark := s.Mark(t)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		// A process that is held misses what happens meanwhile. A new API server's watch cache begins with its start, so a watch
		// from before is told 410 Gone, as after a compaction of etcd: who asked for it has to list, and to see what is gone.
		Assess("the history is gone of what the operator has missed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			bereft := create(ctx, t, s, "bereft", 1)
			settled(ctx, t, s, bereft)
			barrier(ctx, t, s)
			seen := &cachev1alpha1.MemcachedList{}
			if err := s.Client.List(ctx, seen); err != nil {
				t.Fatal(err)
			}
			hold, goOn := s.Operator.Replicas()[0].Pause, s.Operator.Replicas()[0].Resume
			if err := hold(ctx); err != nil {
				t.Fatal(err)
			}
			passUnjudged(ctx, t, s)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			remove(ctx, t, s, deploymentOf(bereft))
			s.Expect(t).Gone(ctx, deploymentOf(bereft))
			s.Expect(t).NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace),
				client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(bereft.UID)})
			if err := s.Component(t, embedded.KubeAPIServer).Kill(ctx); err != nil {
				t.Fatal(err)
			}
			answers(ctx, t, s)
			NewWithT(t).Expect(watchFrom(ctx, s, seen.ResourceVersion)).To(WithTransform(apierrors.IsResourceExpired, BeTrue()))
			if err := goOn(ctx); err != nil {
				t.Fatal(err)
			}
			settled(ctx, t, s, mc)
			settled(ctx, t, s, bereft)
		})).
		Feature())
}

// answers waits until the API server does.
func answers(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
	s.Expect(t).Object(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, Not(BeNil()))
}

// watchFrom returns how the API server refuses to tell what happened to Memcacheds since the resource version, or nil if it tells.
func watchFrom(ctx context.Context, s *suite.Scope, resourceVersion string) error {
	events, err := s.Client.Watch(ctx, &cachev1alpha1.MemcachedList{}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: false},
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	if event, open := <-events.ResultChan(); open && event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	return nil
}
