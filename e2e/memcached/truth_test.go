package memcached

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// truthful fails the test if the Memcached ever said Available=True too early.
func truthful(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	neverEarly(s, mc, s.Versions(ctx), readyPods(mc.UID), mostCounted(mc.Name))
}

// neverEarly fails the test if the Memcached said Available=True although one of these counts was less than its size.
func neverEarly(s *framework.Scope, mc *cachev1alpha1.Memcached, versions []record.Version, ready, counted framework.Count) {
	s.Helper()
	for _, early := range framework.Early(versions, mc.UID, cachev1alpha1.ConditionAvailable, "spec.size", ready, counted) {
		s.Errorf("Memcached %s: expected no untrue Available=True; last seen, by the pods and by the Deployment: %s", mc.Name, early)
	}
}

// slowPods makes each simulated pod of mc take a second until it is ready, so that no rollout is over before an operator on a
// busy machine can report it. Real pods take that long anyway.
func slowPods(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	damage(ctx, s, mc, `{"spec":{"template":{"metadata":{"annotations":{"testbed.example.com/ready-after":"1s"}}}}}`)
	settled(ctx, s, mc)
}

// rolledOutAvailable fails the test unless every version of the Memcached since then, counted over all that is recorded, says
// Available=True, and at least one says Progressing=True, which is how a rollout that loses no capacity is reported.
func rolledOutAvailable(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, since int) {
	s.Helper()
	stayedAvailable(ctx, s, mc, since)
	if !slices.ContainsFunc(record.Of(s.Versions(ctx)[since:], mc.UID), func(v record.Version) bool {
		return framework.IsTrue(v.Object, cachev1alpha1.ConditionProgressing)
	}) {
		s.Fatalf("Memcached %s: expected that it is Progressing while pods are replaced; last seen: it never was", mc.Name)
	}
}

// stayedAvailable fails the test unless every version of the Memcached since then says Available=True.
func stayedAvailable(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, since int) {
	s.Helper()
	for _, v := range record.Of(s.Versions(ctx)[since:], mc.UID) {
		if !framework.IsTrue(v.Object, cachev1alpha1.ConditionAvailable) {
			s.Fatalf("Memcached %s: expected it to stay Available; last seen: in revision %d it is not", mc.Name, v.Revision)
		}
	}
}

// readyPods counts the pods that carry the Memcached's UID, are ready and not being deleted.
func readyPods(uid types.UID) framework.Count {
	return func(versions []record.Version, revision uint64) int {
		return framework.ReadyPods(versionsOfPods(versions, uid), revision)
	}
}

// everReadyPods counts those that have ever been ready. Where pods go at any time, the operator may not have heard of it yet.
func everReadyPods(uid types.UID) framework.Count {
	return func(versions []record.Version, revision uint64) int {
		ready := map[types.UID]bool{}
		for _, v := range versionsOfPods(versions, uid) {
			if v.Revision < revision && framework.IsReady(v.Object) {
				ready[v.Object.GetUID()] = true
			}
		}
		return len(ready)
	}
}

// versionsOfPods returns the versions of a Memcached's pods.
func versionsOfPods(versions []record.Version, uid types.UID) []record.Version {
	return slices.DeleteFunc(slices.Clone(versions), func(v record.Version) bool {
		return v.Object.GetKind() != "Pod" || v.Object.GetLabels()[cachev1alpha1.LabelMemcachedUID] != string(uid)
	})
}

// mostCounted is the most that the Deployment of that name has ever counted. The operator may not have heard of less yet: where pods
// go and come, framework.CountedBy needs a test that gives it the time.
func mostCounted(deployment string) framework.Count {
	return func(versions []record.Version, revision uint64) int {
		most := 0
		for _, v := range versions {
			if v.Object.GetKind() == "Deployment" && v.Object.GetName() == deployment && v.Revision < revision {
				most = max(most, framework.ReadyReplicas(v.Object))
			}
		}
		return most
	}
}

func TestMostCounted(t *testing.T) {
	at := func(revision uint64, name string, ready int64) record.Version {
		return record.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Deployment",
			"metadata": map[string]any{"name": name},
			"status":   map[string]any{"readyReplicas": ready},
		}}}
	}
	versions := []record.Version{at(1, "a", 1), at(2, "a", 3), at(3, "b", 5), at(4, "a", 2), at(6, "a", 4)}
	NewWithT(t).Expect(mostCounted("a")(versions, 5)).To(Equal(3))
	NewWithT(t).Expect(mostCounted("a")(versions, 1)).To(BeZero())
}

func TestReadyPods(t *testing.T) {
	at := func(revision uint64, memcached, name, ready string) record.Version {
		return record.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Pod",
			"metadata": map[string]any{"uid": name, "name": name, "labels": map[string]any{cachev1alpha1.LabelMemcachedUID: memcached}},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}}}
	}
	versions := []record.Version{
		at(1, "m1", "a", "True"), at(2, "m1", "b", "False"), at(3, "m1", "a", "False"), at(4, "m1", "c", "True"), at(4, "m2", "x", "True"), at(5, "m1", "d", "True"),
	}
	NewWithT(t).Expect(readyPods("m1")(versions, 5)).To(Equal(1))
	NewWithT(t).Expect(everReadyPods("m1")(versions, 5)).To(Equal(2))
}
