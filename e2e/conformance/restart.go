package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// restartedAt is the annotation of a pod template with which `kubectl rollout restart` has the pods replaced, and restartedAtPointer is
// the JSON pointer to it.
const (
	restartedAt        = "kubectl.kubernetes.io/restartedAt"
	restartedAtPointer = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"
)

// Restartable checks that `kubectl rollout restart` of owned workloads replaces their pods, and that the operator does not undo it, even
// when it writes these workloads. It restarts the operator.
func (c Checks) Restartable(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "restarted")
	targets := ofApps(children, "Deployment", "StatefulSet", "DaemonSet")
	if len(targets) == 0 {
		s.DoesNotApply("the sample owns no Deployment, StatefulSet or DaemonSet")
	}
	at := time.Now().UTC().Format(time.RFC3339)
	for i := range targets {
		restart(ctx, s, &targets[i], at)
	}
	c.verifyLeftAlone(ctx, s, targets, func(target *unstructured.Unstructured) {
		now := target.DeepCopy()
		get(ctx, s, now)
		verifyRestarted(s, now, at)
	})
}

// ofApps returns the objects of the API group apps that are of the kinds.
func ofApps(objects []unstructured.Unstructured, kinds ...string) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object unstructured.Unstructured) bool {
		return object.GroupVersionKind().Group != appsv1.GroupName || !slices.Contains(kinds, object.GetKind())
	})
}

// restart restarts a workload, and waits until its pods have been replaced, if its controller is to replace them.
func restart(ctx context.Context, s *framework.Scope, workload *unstructured.Unstructured, at string) {
	pods := podsOf(ctx, s, workload)
	now := workload.DeepCopy()
	patch(ctx, s, now, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, restartedAt, at))
	if !replacesPods(workload) {
		return
	}
	framework.WaitFor(ctx, s, workload.GetKind()+" "+workload.GetName(), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(workload), now); err != nil {
			return err
		}
		verifyRestarted(s, now, at) // waiting would not help
		for uid, name := range podsOf(ctx, s, now) {
			if pods[uid] != "" {
				return fmt.Errorf("expected every pod to be replaced after a restart; last seen: %s is still there", name)
			}
		}
		if result, err := status.Compute(now); err != nil || result.Status != status.CurrentStatus {
			return fmt.Errorf("expected new pods to be ready after a restart; last seen: %v", result)
		}
		return nil
	})
}

// verifyRestarted checks that a workload has the annotation of its restart.
func verifyRestarted(s *framework.Scope, workload *unstructured.Unstructured, at string) {
	if is := valueAt(workload, restartedAtPointer); is != at {
		s.Fatalf("%s %s: expected the operator to leave a restart alone; last seen: the annotation %s is gone from the template, or is another one (%v)",
			workload.GetKind(), workload.GetName(), restartedAt, is)
	}
}

// replacesPods reports whether the controller of a workload replaces pods after a change of their template, and is able to: all of them are
// ready.
func replacesPods(workload *unstructured.Unstructured) bool {
	for _, strategy := range []string{"/spec/updateStrategy/type", "/spec/strategy/type"} {
		if valueAt(workload, strategy) == string(appsv1.OnDeleteStatefulSetStrategyType) {
			return false
		}
	}
	partition := valueAt(workload, "/spec/updateStrategy/rollingUpdate/partition")
	result, err := status.Compute(workload)
	return err == nil && result.Status == status.CurrentStatus && valueAt(workload, "/spec/paused") != true && (partition == nil || partition == int64(0))
}

// podsOf returns the names of the pods that a workload selects, by their UIDs.
func podsOf(ctx context.Context, s *framework.Scope, workload *unstructured.Unstructured) map[types.UID]string {
	var spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
	}
	content, _, err := unstructured.NestedMap(workload.Object, "spec")
	must(s, err)
	must(s, runtime.DefaultUnstructuredConverter.FromUnstructured(content, &spec))
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	must(s, err)
	list := &corev1.PodList{}
	must(s, s.Client.List(ctx, list, client.InNamespace(workload.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}))
	pods := map[types.UID]string{}
	for _, pod := range list.Items {
		pods[pod.UID] = pod.Name
	}
	return pods
}
