package memcached

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestImage owns the operator: the image is the manager's to choose. Any legal reference will do, so nothing may be read out of
// it, such as a version from its tag.
func TestImage(t *testing.T) {
	rollsOut := func(image string) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			since := len(s.Versions(ctx))
			restart(ctx, s, runner.WithEnv("MEMCACHED_IMAGE="+image))
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image))))
			settled(ctx, s, mc)
			rolledOutAvailable(ctx, s, mc, since)
		}
	}
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	feature := memcached.Feature("image").
		WithLabel("contract", "2").
		WithLabel("disruptive", "operator").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		s.NeedsSimulation("it rolls out images that are nowhere")
		return create(ctx, s, s.NewName("cache"), s.Size(2, 3))
	}).
		Setup(settled).
		Setup(slowPods).
		Assess("another version rolls out", rollsOut("docker.io/library/memcached:1.6.38-alpine")).
		Assess("without a tag", rollsOut("memcached")).
		Assess("from a registry on a port", rollsOut("localhost:5000/memcached")).
		Assess("by digest", rollsOut("registry.example.com:5000/team/memcached:1.6"+digest)).
		Assess("never was Available with fewer pods than its size", truthful).
		TestAlone(t)
}

// TestFailingImage owns the operator, as TestImage does. Nothing listens on the node's port 1, so a real kubelet's pull is refused at once
// instead of waiting for a name server.
func TestFailingImage(t *testing.T) {
	feature := memcached.Feature("failing image").
		WithLabel("contract", "1").
		WithLabel("contract", "8").
		WithLabel("disruptive", "operator").
		Setup(operatorWith(runner.WithEnv("MEMCACHED_IMAGE=localhost:1/no-such-image:v1")))
	framework.Given(feature, created(1, 2)).
		Assess("an image that can't be pulled makes it Degraded", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			framework.WaitForConditions(ctx, s, mc,
				framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
				framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonImagePullFailed, Message: "no-such-image"},
			)
			framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonImagePullFailed, Note: "no-such-image"})
		}).
		Assess("and is given up when the Deployment's controller does so", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			damage(ctx, s, mc, `{"spec":{"progressDeadlineSeconds":1}}`)
			givenUp(ctx, s, mc, cachev1alpha1.ReasonImagePullFailed)
		}).
		Assess("and recovers with the right image", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			restart(ctx, s)
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}

// TestFailingSidecar adds containers to the pods of a Memcached as an injector does. Degraded names the container that fails, and its
// image, instead of memcached.
func TestFailingSidecar(t *testing.T) {
	const image = "registry.example.com/no-such-image:v1"
	security := `"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}`
	memcached.Feature("failing sidecar").
		WithLabel("contract", "8").
		Assess("is named, with its image", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"`+image+`",`+security+`}]}}}}`)
			failsWith(ctx, s, mc, fmt.Sprintf("The image %q of the container %q cannot be pulled", image, "side"))
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}`)
			settled(ctx, s, mc)
		}).
		Assess("and so is an init container, long before the progress deadline", func(ctx context.Context, s *framework.Scope) {
			s.NeedsSimulation("their kubelets say how an init container is")
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"initContainers":[{"name":"setup","image":"`+image+`",`+security+`}]}}}}`)
			framework.WaitFor(ctx, s, "a pod with the init container", func(ctx context.Context) error { return failInit(ctx, s, mc) })
			failsWith(ctx, s, mc, fmt.Sprintf("The image %q of the init container %q cannot be pulled", image, "setup"))
			damage(ctx, s, mc, `{"spec":{"template":{"spec":{"initContainers":null}}}}`)
			settled(ctx, s, mc)
		}).
		Test(t)
}

// failInit reports for a pod with an init container, as a kubelet does, that its image cannot be pulled. The simulated kubelets leave
// such a pod alone.
func failInit(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) error {
	pods := &corev1.PodList{}
	if err := s.Client.List(ctx, pods, client.InNamespace(mc.Namespace), client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(mc.UID)}); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if len(pod.Spec.InitContainers) == 0 {
			continue
		}
		before := pod.DeepCopy()
		for _, container := range pod.Spec.InitContainers {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
				Name: container.Name, Image: container.Image,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
			})
		}
		return s.Client.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	return errors.New("expected one; last seen: none")
}

// failsWith waits until the Memcached, which stays Available, is Degraded because of an image, with that message.
func failsWith(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, message string) {
	s.Helper()
	framework.WaitForConditions(ctx, s, mc,
		framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonImagePullFailed, Message: message},
		framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue},
	)
	framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonImagePullFailed, Note: message})
}
