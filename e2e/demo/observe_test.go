package demo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/demo"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func memcachedOf(uid types.UID) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mc", UID: uid, Generation: 4},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(3))},
		Status: cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{{
			Type: "Available", Status: metav1.ConditionFalse, Reason: "R", Message: "m", ObservedGeneration: 3,
		}}},
	}
}

func deploymentOf(name string, owner types.UID, wanted *int32, ready int32) *appsv1.Deployment {
	controller := true
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: &controller}}},
		Spec:       appsv1.DeploymentSpec{Replicas: wanted},
		Status:     appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
}

func podOf(name string, memcached types.UID, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{cachev1alpha1.LabelMemcachedUID: string(memcached)}},
		Spec:       corev1.PodSpec{NodeName: "node-1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	change(pod)
	return pod
}

func TestObserve(t *testing.T) {
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}
	}
	got := demo.Observe(memcachedOf("mine"),
		[]*appsv1.Deployment{
			deploymentOf("mc", "mine", new(int32(3)), 1),
			deploymentOf("other", "another's", new(int32(5)), 5),
		},
		[]*corev1.Pod{
			podOf("z-pending", "mine", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending }),
			podOf("y-ready", "mine", ready),
			podOf("x-going", "mine", func(p *corev1.Pod) {
				ready(p)
				p.DeletionTimestamp = &metav1.Time{}
			}),
			podOf("w-pulling", "mine", func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
				}}}
			}),
			podOf("v-failed", "mine", func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Error"},
				}}}
			}),
			podOf("u-evicted", "mine", func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }),
			podOf("a-stranger", "another's", ready),
		})
	want := demo.State{
		Memcached: &demo.Memcached{
			Namespace: "default", Name: "mc", Size: 3, Generation: 4,
			Conditions: []demo.Condition{{Type: "Available", Status: "False", Reason: "R", Message: "m", ObservedGeneration: 3}},
		},
		Deployment: &demo.Deployment{Name: "mc", Ready: 1, Wanted: 3},
		Pods: []demo.Pod{
			{Name: "u-evicted", Node: "node-1", Word: "Evicted"},
			{Name: "v-failed", Node: "node-1", Word: "Error"},
			{Name: "w-pulling", Node: "node-1", Word: "ImagePullBackOff"},
			{Name: "x-going", Node: "node-1", Word: "Terminating"},
			{Name: "y-ready", Node: "node-1", Ready: true, Word: "Running"},
			{Name: "z-pending", Word: "Pending"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Observe (-want +got):\n%s", diff)
	}
}

func TestObserveDefaults(t *testing.T) {
	memcached := memcachedOf("mine")
	memcached.Spec.Size = nil
	got := demo.Observe(memcached, []*appsv1.Deployment{deploymentOf("mc", "mine", nil, 0)}, nil)
	if got.Memcached.Size != 1 || got.Deployment.Wanted != 1 {
		t.Errorf("size %d, wanted replicas %d; an absent field is 1", got.Memcached.Size, got.Deployment.Wanted)
	}
}

func TestObserveNothing(t *testing.T) {
	got := demo.Observe(nil, []*appsv1.Deployment{deploymentOf("mc", "gone", new(int32(1)), 1)}, nil)
	if diff := cmp.Diff(demo.State{}, got); diff != "" {
		t.Errorf("what is left of a deleted Memcached is drawn (-want +got):\n%s", diff)
	}
}
