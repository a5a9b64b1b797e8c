package memcached

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// lie is a version of a Memcached whose status says Available=True against what the API server had stored before.
type lie struct {
	revision             uint64
	size, ready, counted int
}

func describeLies(lies []lie) string {
	var b strings.Builder
	for _, l := range lies {
		fmt.Fprintf(&b, "  revision %d says Available=True: %d of %d pods were ready, and its Deployment counted %d\n", l.revision, l.ready, l.size, l.counted)
	}
	return b.String()
}

// truthful fails the test if the Memcached ever said Available=True too early.
func truthful(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached) {
	t.Helper()
	noLies(t, mc, falseAvailable(s.Versions(ctx, t), mc.UID, readyPods, mostCounted))
}

func noLies(t *testing.T, mc *cachev1alpha1.Memcached, lies []lie) {
	t.Helper()
	if len(lies) > 0 {
		t.Fatalf("Memcached %s: expected no untrue Available=True; last seen:\n%s", mc.Name, describeLies(lies))
	}
}

// falseAvailable returns the versions of a Memcached that say Available=True although fewer pods of it than its size were
// ready just before, or fewer were counted by its Deployment. Only the versions in which the status changed count: the API server
// repeats an old status when somebody changes the spec. The size is that of the generation which the condition speaks of.
func falseAvailable(versions []history.Version, uid types.UID, ready, counted count) []lie {
	var lies []lie
	before := ""
	sizes := map[int64]int64{}
	for _, v := range history.Of(versions, uid) {
		size, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "size")
		sizes[v.Object.GetGeneration()] = size
		status := fmt.Sprint(v.Object.Object["status"])
		written := status != before
		before = status
		conditions, err := expect.ConditionsOf(v.Object)
		if err != nil || v.Deleted || !written || !meta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionAvailable) {
			continue
		}
		l := lie{revision: v.Revision, ready: ready(versions, v.Object, v.Revision), counted: counted(versions, v.Object, v.Revision)}
		l.size = int(sizes[meta.FindStatusCondition(conditions, cachev1alpha1.ConditionAvailable).ObservedGeneration])
		if min(l.ready, l.counted) < l.size {
			lies = append(lies, l)
		}
	}
	return lies
}

// slowPods makes each simulated pod of mc take half a second until it is ready, so that no rollout is over before an operator on a
// busy machine can report it. Real pods take that long anyway.
func slowPods(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached) {
	t.Helper()
	damage(ctx, t, s, mc, `{"spec":{"template":{"metadata":{"annotations":{"testbed.example.com/ready-after":"500ms"}}}}}`)
	settled(ctx, t, s, mc)
}

// rolledOutAvailable fails the test unless every version of the Memcached since then, counted over all that is recorded, says
// Available=True, and at least one says Progressing=True, which is how a rollout that loses no capacity is reported.
func rolledOutAvailable(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, since int) {
	t.Helper()
	stayedAvailable(ctx, t, s, mc, since)
	if !slices.ContainsFunc(history.Of(s.Versions(ctx, t)[since:], mc.UID), func(v history.Version) bool {
		return expect.IsTrue(v.Object, cachev1alpha1.ConditionProgressing)
	}) {
		t.Fatalf("Memcached %s: expected that it is Progressing while pods are replaced; last seen: it never was", mc.Name)
	}
}

// stayedAvailable fails the test unless every version of the Memcached since then says Available=True.
func stayedAvailable(ctx context.Context, t *testing.T, s *suite.Scope, mc *cachev1alpha1.Memcached, since int) {
	t.Helper()
	for _, v := range history.Of(s.Versions(ctx, t)[since:], mc.UID) {
		if !expect.IsTrue(v.Object, cachev1alpha1.ConditionAvailable) {
			t.Fatalf("Memcached %s: expected that it stays Available; last seen: in revision %d it is not", mc.Name, v.Revision)
		}
	}
}

// count is how many ready pods of a Memcached there are just before a revision, according to somebody.
type count func(versions []history.Version, mc *unstructured.Unstructured, revision uint64) int

// readyPods counts the pods that carry the Memcached's UID, are ready and not on their way out.
func readyPods(versions []history.Version, mc *unstructured.Unstructured, revision uint64) int {
	ready := 0
	for _, pod := range history.Before(versions, "Pod", revision) {
		if isReadyPodOf(pod, mc) {
			ready++
		}
	}
	return ready
}

// everReadyPods counts those that have ever been ready. Where pods go at any time, the operator may not have heard of it yet.
func everReadyPods(versions []history.Version, mc *unstructured.Unstructured, revision uint64) int {
	ready := map[types.UID]bool{}
	for _, v := range versions {
		if v.Revision < revision && v.Object.GetKind() == "Pod" && isReadyPodOf(v.Object, mc) {
			ready[v.Object.GetUID()] = true
		}
	}
	return len(ready)
}

func isReadyPodOf(pod, mc *unstructured.Unstructured) bool {
	if pod.GetLabels()[cachev1alpha1.LabelMemcachedUID] != string(mc.GetUID()) || pod.GetDeletionTimestamp() != nil {
		return false
	}
	return expect.IsTrue(pod, string(corev1.PodReady))
}

// lastCounted is what the Deployment says at that revision. The operator may not have heard of it yet: where pods go and come, a test
// has to see to it that there was time.
func lastCounted(versions []history.Version, mc *unstructured.Unstructured, revision uint64) int {
	for _, deployment := range history.Before(versions, "Deployment", revision) {
		if deployment.GetName() == mc.GetName() {
			return readyReplicas(deployment)
		}
	}
	return 0
}

// mostCounted is the most that the Deployment has ever said.
func mostCounted(versions []history.Version, mc *unstructured.Unstructured, revision uint64) int {
	most := 0
	for _, v := range versions {
		if v.Object.GetKind() == "Deployment" && v.Object.GetName() == mc.GetName() && v.Revision < revision {
			most = max(most, readyReplicas(v.Object))
		}
	}
	return most
}

func readyReplicas(deployment *unstructured.Unstructured) int {
	ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return int(ready)
}

// deploymentAt is a version of a Deployment that counts so many ready pods.
func deploymentAt(revision uint64, name string, ready int64) history.Version {
	return history.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
		"kind":     "Deployment",
		"metadata": map[string]any{"uid": name, "name": name},
		"status":   map[string]any{"readyReplicas": ready},
	}}}
}

func TestCounted(t *testing.T) {
	versions := []history.Version{
		deploymentAt(1, "a", 1), deploymentAt(2, "a", 3), deploymentAt(3, "b", 5), deploymentAt(4, "a", 2), deploymentAt(6, "a", 4),
	}
	g := NewWithT(t)
	named := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	}
	g.Expect(lastCounted(versions, named("a"), 5)).To(Equal(2))
	g.Expect(mostCounted(versions, named("a"), 5)).To(Equal(3))
	g.Expect(lastCounted(versions, named("c"), 5)).To(BeZero())
	g.Expect(mostCounted(versions, named("a"), 1)).To(BeZero())
}

// podAt is a version of a pod of the Memcached with the UID m1, which is ready or not.
func podAt(revision uint64, name, ready string) history.Version {
	return history.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
		"kind":     "Pod",
		"metadata": map[string]any{"uid": name, "name": name, "labels": map[string]any{cachev1alpha1.LabelMemcachedUID: "m1"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
	}}}
}

func TestReadyPods(t *testing.T) {
	mc := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "m1"}}}
	versions := []history.Version{podAt(1, "a", "True"), podAt(2, "b", "False"), podAt(3, "a", "False"), podAt(4, "c", "True"), podAt(5, "d", "True")}
	g := NewWithT(t)
	g.Expect(readyPods(versions, mc, 5)).To(Equal(1))
	g.Expect(everReadyPods(versions, mc, 5)).To(Equal(2))
}

func TestFalseAvailable(t *testing.T) {
	const uid = "m1"
	cr := func(revision uint64, size int64, available metav1.ConditionStatus, nodes int64) history.Version {
		object := &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Memcached",
			"metadata": map[string]any{"uid": uid, "name": "cache"},
			"spec":     map[string]any{"size": size},
			"status": map[string]any{
				"readyReplicas": nodes,
				"conditions":    []any{map[string]any{"type": "Available", "status": string(available)}},
			},
		}}
		return history.Version{Revision: revision, Object: object}
	}
	deployment := func(revision uint64, ready int64) history.Version { return deploymentAt(revision, "cache", ready) }
	// of gives a Memcached a generation, and a status that speaks of one.
	of := func(generation, observed int64, v history.Version) history.Version {
		v.Object.SetGeneration(generation)
		conditions, _, _ := unstructured.NestedSlice(v.Object.Object, "status", "conditions")
		conditions[0].(map[string]any)["observedGeneration"] = observed
		_ = unstructured.SetNestedSlice(v.Object.Object, conditions, "status", "conditions")
		return v
	}
	for name, tc := range map[string]struct {
		versions []history.Version
		lies     int
	}{
		"true":                        {[]history.Version{podAt(1, "a", "True"), podAt(2, "b", "True"), deployment(3, 2), cr(4, 2, "True", 2)}, 0},
		"a pod is missing":            {[]history.Version{deployment(1, 2), podAt(2, "a", "True"), cr(3, 2, "True", 1)}, 1},
		"a pod is not ready":          {[]history.Version{deployment(1, 2), podAt(2, "a", "True"), podAt(3, "b", "False"), cr(4, 2, "True", 1)}, 1},
		"a pod gets ready too late":   {[]history.Version{deployment(1, 2), podAt(2, "a", "True"), cr(3, 2, "True", 1), podAt(4, "b", "True")}, 1},
		"the Deployment has fewer":    {[]history.Version{podAt(1, "a", "True"), podAt(2, "b", "True"), deployment(3, 1), cr(4, 2, "True", 2), deployment(5, 2)}, 1},
		"there is no Deployment":      {[]history.Version{podAt(1, "a", "True"), cr(2, 1, "True", 1)}, 1},
		"says False":                  {[]history.Version{cr(3, 2, "False", 0)}, 0},
		"an old status, another size": {[]history.Version{deployment(1, 1), podAt(2, "a", "True"), cr(3, 1, "True", 1), cr(4, 5, "True", 1)}, 0},
		"another size since then":     {[]history.Version{deployment(1, 1), podAt(2, "a", "True"), of(1, 1, cr(3, 1, "False", 1)), of(2, 1, cr(4, 5, "True", 1))}, 0},
		"too few of the size since":   {[]history.Version{deployment(1, 1), podAt(2, "a", "True"), of(1, 1, cr(3, 1, "False", 1)), of(2, 2, cr(4, 5, "True", 1))}, 1},
		"written again after a loss":  {[]history.Version{deployment(1, 1), podAt(2, "a", "True"), cr(3, 1, "True", 1), podAt(4, "a", "False"), cr(5, 1, "True", 0)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(falseAvailable(tc.versions, uid, readyPods, mostCounted)).To(HaveLen(tc.lies))
		})
	}
}
