package memcached

import (
	"context"
	"errors"
	"fmt"
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
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(ownOperator)).
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			restart(ctx, t, s, longLease)
			mc = create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
		})).
		Assess("the API server is killed", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			if err := s.Component(t, embedded.KubeAPIServer).Kill(ctx); err != nil {
				t.Fatal(err)
			}
			s.ControlPlane(ctx, t)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
			settled(ctx, t, s, mc)
			mark := s.Mark(t)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Feature())
}

// TestLongOutage owns the cluster. A leader that can't renew its lease ends: another one may be at work. Who runs it starts it
// again, as a kubelet does.
func TestLongOutage(t *testing.T) {
	memcached.TestAlone(t, features.New("long outage").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(ownOperator)).
		Assess("ends the operator, and the next one goes on", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			server := s.Component(t, embedded.KubeAPIServer)
			restart(ctx, t, s, shortLease(s))
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			if err := server.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			how, err := s.Operator.Replicas()[0].Ended(ctx)
			if err := errors.Join(err, server.Start(ctx)); err != nil {
				t.Fatal(err)
			}
			if how.Code != 1 {
				t.Errorf("expected that the operator ends with exit code 1; last seen: it %s", how)
			}
			s.ControlPlane(ctx, t)
			restart(ctx, t, s, shortLease(s))
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// TestMissedHistory owns the cluster. The operator is cut off while a Deployment goes and a size changes. Nobody tells it
// later: a new API server's watch cache begins with its start, so a watch from before is told 410 Gone, as after a compaction
// of etcd. It has to list, and to see for itself what is gone.
func TestMissedHistory(t *testing.T) {
	memcached.TestAlone(t, features.New("missed history").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(ownOperator)).
		Assess("is made up for", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			server := s.Component(t, embedded.KubeAPIServer)
			way := behindWire(ctx, t, s, longLease)
			bereft, changed := create(ctx, t, s, "bereft", 1), create(ctx, t, s, "changed", 1)
			settled(ctx, t, s, bereft)
			settled(ctx, t, s, changed)
			barrier(ctx, t, s)
			seen := &cachev1alpha1.MemcachedList{}
			if err := s.Client.List(ctx, seen); err != nil {
				t.Fatal(err)
			}
			way.cut()
			change(ctx, t, s, changed, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			remove(ctx, t, s, deploymentOf(bereft))
			s.Expect(t).Gone(ctx, deploymentOf(bereft))
			s.Expect(t).NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace),
				client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(bereft.UID)})
			if err := server.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			s.ControlPlane(ctx, t)
			NewWithT(t).Expect(watchFrom(ctx, s, seen.ResourceVersion)).To(WithTransform(apierrors.IsResourceExpired, BeTrue()))
			way.mend()
			settled(ctx, t, s, changed)
			settled(ctx, t, s, bereft)
			truthful(t, s, changed)
			truthful(t, s, bereft)
		})).
		Feature())
}

// TestBrokenWatches owns the operator. Its connections break again and again, in the middle of lists, of watches and of
// answers to writes: it can't tell what came of them.
func TestBrokenWatches(t *testing.T) {
	memcached.TestAlone(t, features.New("broken watches").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(ownOperator)).
		Assess("lose nothing", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			way := behindWire(ctx, t, s, longLease)
			way.wear(20_000, 40_000, 30_000) // few: each makes the operator wait longer before it tries again
			var served []*cachev1alpha1.Memcached
			for i := range 5 {
				served = append(served, create(ctx, t, s, fmt.Sprintf("cache-%d", i), 1))
			}
			for _, mc := range served {
				settled(ctx, t, s, mc)
				change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			}
			NewWithT(t).Expect(way.left()).To(BeZero(), "connections that did not come, to break")
			for _, mc := range served {
				settled(ctx, t, s, mc)
			}
			mark := s.Mark(t)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
			for _, mc := range served {
				truthful(t, s, mc)
			}
		})).
		Feature())
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
