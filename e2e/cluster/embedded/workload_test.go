package embedded_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/tier"
)

func TestDeployment(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "plain", 3)
	b.create(t, d)
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionTrue))
	framework.WaitForDeployment(t.Context(), b.scope(t), client.ObjectKeyFromObject(d), 3)
}

func TestImageThatIsNotThere(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "no-image", 1)
	d.Spec.Template.Spec.Containers[0].Image = "registry.example.com/no-such-image:1"
	b.create(t, d)
	pod := b.podThat(t, d, waitsFor("ErrImagePull", "ImagePullBackOff"))
	framework.WaitForEvent(t.Context(), b.scope(t), pod, framework.Event{Type: corev1.EventTypeWarning, Reason: "Failed", Note: "Failed to pull image"})
	framework.WaitForEvent(t.Context(), b.scope(t), pod, framework.Event{Type: corev1.EventTypeWarning, Reason: "Failed", Note: "Error: ImagePullBackOff"})
	b.podThat(t, d, waitsFor("ImagePullBackOff"))
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionFalse))

	b.patch(t, d, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"memcached:1.6"}]}}}}`)
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionTrue))
	framework.WaitForDeployment(t.Context(), b.scope(t), client.ObjectKeyFromObject(d), 1)
}

func TestRunningPodThatCrashes(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "crashing", 1)
	b.create(t, d)
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionTrue))
	pod := b.podThat(t, d, waitsFor())

	b.patch(t, pod, `{"metadata":{"annotations":{"testbed.example.com/simulate":"crashloop"}}}`)
	crashed := b.podThat(t, d, waitsFor("CrashLoopBackOff"))
	if crashed.UID != pod.UID {
		t.Errorf("expected the pod that ran to crash, it was replaced by %s", crashed.Name)
	}
	if status := crashed.Status.ContainerStatuses[0]; status.RestartCount < 1 || status.LastTerminationState.Terminated == nil {
		t.Errorf("expected a restart and how the container exited, got %+v", status)
	}
	framework.WaitForEvent(t.Context(), b.scope(t), pod, framework.Event{Type: corev1.EventTypeWarning, Reason: "BackOff", Note: "Back-off restarting failed container"})
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionFalse))

	b.patch(t, pod, `{"metadata":{"annotations":{"testbed.example.com/simulate":null}}}`)
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionTrue))
	if recovered := b.podThat(t, d, waitsFor()); recovered.UID != pod.UID {
		t.Errorf("expected the same pod to run again, it was replaced by %s", recovered.Name)
	}
}

func TestPodThatTakesItsTime(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "slow", 1)
	d.Spec.Template.Annotations = map[string]string{"testbed.example.com/ready-after": "3s"}
	b.create(t, d)
	framework.WaitForObject(t.Context(), b.scope(t), d, available(corev1.ConditionTrue))
	pod := b.podThat(t, d, waitsFor())
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	// Both times are in whole seconds.
	if took := pod.Status.Conditions[i].LastTransitionTime.Sub(pod.CreationTimestamp.Time); took < 2*time.Second {
		t.Errorf("the pod was ready after %s, want 3s", took)
	}
}

// The API server gives each volume claim a finalizer that a controller has to remove.
func TestVolumeClaimIsDeleted(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace(t), Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	b.create(t, claim)
	if err := b.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	framework.WaitForDeletion(t.Context(), b.scope(t), claim)
}

func TestJob(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace(t), Name: "job"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "busybox:1"}},
		}}},
	}
	b.create(t, job)
	framework.WaitForObject(t.Context(), b.scope(t), job, HaveField("Status.Succeeded", Equal(int32(1))))
}

// podThat returns the Deployment's one pod once it matches.
func (b *bed) podThat(t *testing.T, d *appsv1.Deployment, matcher gomegatypes.GomegaMatcher) *corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	var pod *corev1.Pod
	one := WithTransform(func(pods []client.Object) *corev1.Pod {
		pod = nil
		if len(pods) == 1 {
			pod = pods[0].(*corev1.Pod)
		}
		return pod
	}, And(Not(BeNil()), matcher))
	framework.WaitForObjects(t.Context(), b.scope(t), framework.ObjectsInput{
		List:    list,
		Options: []client.ListOption{client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)},
		Matcher: one,
	})
	return pod
}

// waitsFor matches a pod whose container waits for one of the reasons; without reasons, one that is ready.
func waitsFor(reasons ...string) gomegatypes.GomegaMatcher {
	return WithTransform(func(pod *corev1.Pod) bool {
		if len(pod.Status.ContainerStatuses) == 0 {
			return false
		}
		status := pod.Status.ContainerStatuses[0]
		if waiting := status.State.Waiting; waiting != nil {
			return slices.Contains(reasons, waiting.Reason)
		}
		return status.Ready && len(reasons) == 0
	}, BeTrue())
}

// available matches a Deployment with that condition.
func available(status corev1.ConditionStatus) gomegatypes.GomegaMatcher {
	return WithTransform(func(object client.Object) corev1.ConditionStatus {
		d := object.(*appsv1.Deployment)
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentAvailable && d.Status.ObservedGeneration == d.Generation {
				return c.Status
			}
		}
		return ""
	}, Equal(status))
}

// TestWaitEndsWhenNothingCanStart waits for pods that never become available. Each wait ends long before its time.
func TestWaitEndsWhenNothingCanStart(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "stuck", 2)
	d.Spec.Template.Spec.Containers[0].Image = "registry.example.com/no-such-image:1"
	b.create(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	_, err := rollout.Available(ctx, b.cluster.KubernetesRestConfig(), client.ObjectKeyFromObject(d))
	g := NewWithT(t)
	g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it waited until its time was over")
	g.Expect(err).To(MatchError(And(
		HavePrefix("0 of 2 pods are available: the pod stuck-"),
		ContainSubstring("the container main waits: ImagePullBackOff (Back-off pulling image"),
		ContainSubstring("\n  its events:\n    Warning Failed: "),
	)))

	// An earlier failure does not count if its cause has gone: here, the new template has another image.
	b.patch(t, d, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"memcached:1.6"}]}}}}`)
	_, err = rollout.Available(ctx, b.cluster.KubernetesRestConfig(), client.ObjectKeyFromObject(d))
	g.Expect(err).NotTo(HaveOccurred())
}

// TestWaitSaysWhatPodsLack waits for pods that nothing but the time can give up on: no node has room for them.
func TestWaitSaysWhatPodsLack(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	d := deployment(b.namespace(t), "homeless", 1)
	d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "gold"}
	b.create(t, d)
	b.podThat(t, d, HaveField("Status.Conditions", ContainElement(HaveField("Reason", corev1.PodReasonUnschedulable))))
	over := errors.New("the time is over")
	var last *appsv1.Deployment
	var err error
	for patience := time.Second; last == nil; patience *= 2 { // a busy API server may not answer in one second
		ctx, cancel := context.WithTimeoutCause(t.Context(), patience, over)
		last, err = rollout.Available(ctx, b.cluster.KubernetesRestConfig(), client.ObjectKeyFromObject(d))
		cancel()
	}
	g := NewWithT(t)
	g.Expect(err).To(MatchError(And(HavePrefix("0 of 1 pods are available: the time is over\nthe pod homeless-"), ContainSubstring("Unschedulable: 0/"))))
	g.Expect(err).To(MatchError(over))
}
