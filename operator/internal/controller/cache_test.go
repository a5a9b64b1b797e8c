package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// No decision depends on a field that the cache leaves out.
func TestTrimmedObjectsReadTheSame(t *testing.T) {
	for _, test := range everyCase() {
		t.Run(test.name, func(t *testing.T) {
			want, _ := computeStatus(test.snapshot)
			got, _ := computeStatus(trimmed(t, test.snapshot))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status (-whole objects +trimmed):\n%s", diff)
			}
		})
	}

	t.Run("the Deployment", func(t *testing.T) {
		desired := desiredDeployment(testMemcached(3), testImage)
		deployment, err := ssa.Deployment(desired)
		if err != nil {
			t.Fatal(err)
		}
		deployment.Generation, deployment.Status.ObservedGeneration = 2, 2
		deployment.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Message: "no"},
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		}
		deployment.CreationTimestamp = metav1.Now()
		want := stateOf(deployment)
		trimmed := trim(t, trimDeployment, deployment)
		if got := stateOf(trimmed); got != want {
			t.Errorf("state = %+v, want %+v", got, want)
		}
		if paths := ssa.Drift(desired, trimmed); len(paths) > 0 {
			t.Errorf("drift = %q, want none", paths)
		}
	})
}

// trimmed returns the snapshot with objects as the cache holds them.
func trimmed(t *testing.T, s snapshot) snapshot {
	t.Helper()
	pods, replicaSets := s.pods, s.replicaSets
	s.pods, s.replicaSets = nil, nil
	for _, full := range pods {
		s.pods = append(s.pods, *trim(t, trimPod, full.DeepCopy()))
	}
	for _, full := range replicaSets {
		s.replicaSets = append(s.replicaSets, *trim(t, trimReplicaSet, full.DeepCopy()))
	}
	return s
}

// A container has the image of the pod's template, even if the kubelet reports another name for it.
func TestTrimmedPodNamesItsImages(t *testing.T) {
	full := pod("a", waiting("CrashLoopBackOff"), waitingInit("ErrImagePull"))
	full.Spec.Containers = []corev1.Container{{Name: containerName, Image: "memcached"}}
	full.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup"}}
	got := trim(t, trimPod, &full)
	var images []string
	for _, status := range append(got.Status.InitContainerStatuses, got.Status.ContainerStatuses...) {
		images = append(images, status.Image)
	}
	if diff := cmp.Diff([]string{"setup", "memcached"}, images); diff != "" {
		t.Errorf("images (-of the template +cached):\n%s", diff)
	}
}

// A sidecar is an init container that is always restarted. It does not finish, so its failures are those of a container.
func TestTrimmedPodHasSidecarsAmongItsContainers(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	exited := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for _, test := range []struct {
		name     string
		failures []failure
		state    corev1.ContainerState
		reason   string
	}{
		{"it is not ready", stalls, running, cachev1alpha1.ReasonProbeFailed},
		{"it exits without an error", failures, exited, cachev1alpha1.ReasonCrashLoop},
	} {
		t.Run(test.name, func(t *testing.T) {
			always := corev1.ContainerRestartPolicyAlways
			full := pod("a", notReady)
			full.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup"}, {Name: "proxy", Image: "proxy", RestartPolicy: &always}}
			full.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", Ready: true, State: exited}, {Name: "proxy", State: test.state}}
			full.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: containerName, Ready: true, State: running}}
			reason, message := firstOf(test.failures, []corev1.Pod{*trim(t, trimPod, &full)})
			if reason != test.reason || !strings.Contains(message, `The container "proxy"`) {
				t.Errorf("got %s: %q, want %s about the sidecar", reason, message, test.reason)
			}
		})
	}
}

func TestTrimmedObjectsAreSmall(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name:          "a",
		Labels:        map[string]string{labelInstance: "sample", "app.kubernetes.io/part-of": "operator-testbed"},
		Annotations:   map[string]string{"large": "value"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
	}
	pod := trim(t, trimPod, &corev1.Pod{
		ObjectMeta: meta,
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			HostIP: "192.0.2.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, Message: "long"},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "memcached", Ready: true}},
		},
	})
	trimmedMeta := metav1.ObjectMeta{Name: "a", Labels: map[string]string{labelInstance: "sample"}}
	wantPod := &corev1.Pod{
		ObjectMeta: trimmedMeta,
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if diff := cmp.Diff(wantPod, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	replicaSet := trim(t, trimReplicaSet, &metav1.PartialObjectMetadata{ObjectMeta: meta})
	if diff := cmp.Diff(&metav1.PartialObjectMetadata{ObjectMeta: trimmedMeta}, replicaSet); diff != "" {
		t.Errorf("ReplicaSet (-want +got):\n%s", diff)
	}
	deployment := trim(t, trimDeployment, &appsv1.Deployment{ObjectMeta: meta, Status: appsv1.DeploymentStatus{Replicas: 3}})
	if deployment.ManagedFields != nil || deployment.Status.Replicas != 0 || len(deployment.Annotations) != 0 || len(deployment.Labels) != 2 {
		t.Errorf("Deployment = %+v, want labels, but no annotations of others, no managed fields and no counts", deployment)
	}
}

func trim[T any](t *testing.T, transform func(any) (any, error), object T) T {
	t.Helper()
	trimmed, err := transform(object)
	if err != nil {
		t.Fatal(err)
	}
	return trimmed.(T)
}
