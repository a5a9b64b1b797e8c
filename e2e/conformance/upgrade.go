package conformance

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// upgradeWrites is how many writes to one object may follow from an upgrade of the operator.
const upgradeWrites = 20

// lacksBefore says that the point about an upgrade has nothing to upgrade from, unless it has.
func (c Checks) lacksBefore() string {
	if c.Before == nil {
		return "no version before was given: name its executable or image with from or --from"
	}
	return ""
}

// version is a version of the operator, as it is installed.
type version struct {
	manifests manifest.Set
	changes   []runner.Change
}

// Upgraded checks that an upgrade of the operator, and the way back, restart no pod that the previous version has created, and lead to few
// writes. No other feature may use the operator at the same time.
func (c Checks) Upgraded(ctx context.Context, s *framework.Scope) {
	s = s.Patient(healTime)
	manifests, err := manifest.Load(c.Before.Manifests)
	must(s, err)
	now, before := version{manifests: s.Manifests()}, version{manifests, []runner.Change{runner.WithBinary(c.Before.Binary)}}
	s.Cleanup(func() {
		if err := install(context.WithoutCancel(ctx), s, now); err != nil {
			s.Errorf("installing the version under test again: %v", err)
		}
	})
	if err := install(ctx, s, before); err != nil {
		s.Skipf("the version before does not start: %v", err)
	}
	object, _ := c.createdWithOwned(ctx, s, "upgraded")
	// acted waits until the operator has acted on the object, and settled for what follows.
	acted := func() { c.Barrier(ctx, s) }
	settled := func() map[types.UID]corev1.Pod {
		pods := podsOwned(s, object, c.sample().waitForReady(ctx, s, object))
		c.Barrier(ctx, s)
		return pods
	}
	acted()
	pods := settled()
	must(s, install(ctx, s, before))
	acted()
	if restarted := replaced(pods, settled()); len(restarted) > 0 {
		s.DoesNotApply("a mere restart of the version before leads to other pods, too: " + strings.Join(restarted, ", "))
	}
	for _, step := range []struct {
		name string
		to   version
	}{{"the upgrade", now}, {"the way back", before}} {
		since := s.Mark()
		must(s, install(ctx, s, step.to))
		acted()
		verifyBounded(ctx, s, since, step.name) // first, because what is written without an end is never ready
		if restarted := replaced(pods, settled()); len(restarted) > 0 {
			s.Fatalf("expected %s to restart no pod; last seen: %s", step.name, strings.Join(restarted, ", "))
		}
		verifyBounded(ctx, s, since, step.name)
	}
}

// install stops the operator, and starts a version of it. The lease of the one that has stopped may still be held.
func install(ctx context.Context, s *framework.Scope, v version) error {
	if err := s.Operator.Stop(ctx); err != nil {
		return err
	}
	dropLeases(ctx, s)
	return s.Operator.Install(ctx, v.manifests, v.changes...)
}

// podsOwned returns the pods among objects that an object owns, or that these own, by their UIDs. Those of a canary may not be gone yet.
func podsOwned(s *framework.Scope, object client.Object, objects []unstructured.Unstructured) map[types.UID]corev1.Pod {
	uids, pods := map[types.UID]bool{object.GetUID(): true}, map[types.UID]corev1.Pod{}
	addOwned(uids, objects)
	for i := range objects {
		if uids[objects[i].GetUID()] && objects[i].GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Pod") {
			var pod corev1.Pod
			must(s, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &pod))
			pods[pod.UID] = pod
		}
	}
	return pods
}

// replaced describes those pods that are gone or about to go, or whose containers have been restarted.
func replaced(before, after map[types.UID]corev1.Pod) (restarted []string) {
	for uid, pod := range before {
		switch now, found := after[uid]; {
		case !found || now.DeletionTimestamp != nil:
			restarted = append(restarted, fmt.Sprintf("Pod %s is gone", pod.Name))
		case restarts(now) > restarts(pod):
			restarted = append(restarted, fmt.Sprintf("Pod %s has restarted", pod.Name))
		}
	}
	return restarted
}

// restarts returns how often containers of a pod have been restarted.
func restarts(pod corev1.Pod) (count int32) {
	for _, status := range pod.Status.ContainerStatuses {
		count += status.RestartCount
	}
	return count
}

// verifyBounded checks that the operator has not written any object too often since the mark.
func verifyBounded(ctx context.Context, s *framework.Scope, since audit.Mark, cause string) {
	byObject := map[string][]auditv1.Event{}
	for _, write := range written(ctx, s, since) {
		if ref := write.ObjectRef; ref != nil {
			name := fmt.Sprintf("%s %s", ref.Resource, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
			byObject[name] = append(byObject[name], write)
		}
	}
	for name, writes := range byObject {
		if len(writes) > upgradeWrites {
			s.Fatalf("%s: expected at most %d writes after %s; last seen: %d, the last of them:\n%s",
				name, upgradeWrites, cause, len(writes), audit.Describe(writes[len(writes)-2:]))
		}
	}
}
