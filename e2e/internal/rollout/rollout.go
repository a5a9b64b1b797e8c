// Package rollout waits for the pods of Deployments. A wait ends as soon as a container can't start, and its error says what the pods
// report: the reason, the last lines of the log, and the events.
package rollout

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// revision is the annotation by which a Deployment and the ReplicaSet of its current template belong together.
const revision = "deployment.kubernetes.io/revision"

// Available waits until a Deployment has all its pods, all of its current template, and they are available. It fails as soon as a
// container of such a pod can't start. It returns the Deployment as it was last seen, or nil if there was none.
func Available(ctx context.Context, config *rest.Config, key client.ObjectKey) (*appsv1.Deployment, error) {
	c, err := watch.NewClient(config)
	if err != nil {
		return nil, err
	}
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	guarded := false
	last, err := watch.Object(waiting, c, &appsv1.DeploymentList{}, key, func(d *appsv1.Deployment) bool {
		if watch.Complete(d) {
			return true
		}
		if !guarded {
			guarded = true
			go func() {
				if err := failure(waiting, c, config, d); err != nil {
					end(err)
				}
			}()
		}
		return false
	})
	if err == nil || last == nil {
		return last, err
	}
	failure := new(failureError)
	if !errors.As(err, &failure) {
		failure = &failureError{cause: err, report: report(ctx, c, config, last)}
	}
	failure.counts = fmt.Sprintf("%d of %d pods are available%s: ", last.Status.AvailableReplicas, *last.Spec.Replicas, refused(last.Status))
	return last, failure
}

// failureError is why the pods of a Deployment are not available.
type failureError struct {
	counts, report string
	cause          error // may be nil
}

func (e *failureError) Error() string {
	switch {
	case e.cause == nil:
		return e.counts + e.report
	case e.report == "":
		return e.counts + e.cause.Error()
	default:
		return fmt.Sprintf("%s%v\n%s", e.counts, e.cause, e.report)
	}
}

func (e *failureError) Unwrap() error { return e.cause }

// failure waits until a container of the Deployment's current pods can't start, and returns an error that says what these pods report.
// It returns nil when ctx has ended. What pods of an earlier template do does not matter, and neither does a crash or a failed pull from
// before the call, unless it happens again: its cause may have been removed.
func failure(ctx context.Context, c client.WithWatch, config *rest.Config, d *appsv1.Deployment) error {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil // the API server has admitted it, so this can't be
	}
	old := earlier{}
	first := true
	for state, err := range watch.Follow(ctx, c, &corev1.PodList{}, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}) {
		if err != nil {
			continue
		}
		for _, version := range state.New {
			pod := version.Object.(*corev1.Pod)
			if version.Deleted || !old.fails(pod, first) {
				continue
			}
			if now := current(ctx, c, d); now.owns(pod) {
				return &failureError{report: now.report(ctx, config)}
			}
		}
		first = false
	}
	return nil
}

// generation is a Deployment, the ReplicaSet of its current template, and the pods of that.
type generation struct {
	deployment *appsv1.Deployment
	replicaSet *appsv1.ReplicaSet // nil if there is none yet, or if it can't be read
	pods       []corev1.Pod
}

// current reads what belongs to the Deployment now.
func current(ctx context.Context, c client.Client, d *appsv1.Deployment) generation {
	now := generation{deployment: &appsv1.Deployment{}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(d), now.deployment); err != nil {
		return now
	}
	if now.deployment.Status.ObservedGeneration < now.deployment.Generation {
		return now
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	matching := []client.ListOption{client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)}
	if c.List(ctx, sets, matching...) != nil || c.List(ctx, pods, matching...) != nil {
		return now
	}
	for i, set := range sets.Items {
		if metav1.IsControlledBy(&set, now.deployment) && set.Annotations[revision] == now.deployment.Annotations[revision] {
			now.replicaSet = &sets.Items[i]
		}
	}
	for _, pod := range pods.Items {
		if now.owns(&pod) {
			now.pods = append(now.pods, pod)
		}
	}
	return now
}

// owns reports whether the pod is of the current template.
func (g generation) owns(pod *corev1.Pod) bool {
	return g.replicaSet != nil && metav1.IsControlledBy(pod, g.replicaSet)
}

// report says what the pods report that are not available, with what the API server has of them.
func (g generation) report(ctx context.Context, config *rest.Config) string {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	return describe(g.pods, evidence{ctx: ctx, clients: clients})
}

func report(ctx context.Context, c client.Client, config *rest.Config, d *appsv1.Deployment) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	return current(ctx, c, d).report(ctx, config)
}

// refused says why a Deployment's pods can't be created, where they can't.
func refused(status appsv1.DeploymentStatus) string {
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return " (" + c.Message + ")"
		}
	}
	return ""
}
