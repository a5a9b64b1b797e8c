package controller

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/13-testing/api/v1alpha1"
)

// deploymentWith returns a Deployment of generation 2 whose status is up to date.
func deploymentWith(observed int64, total, updated, available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: observed, Replicas: total, UpdatedReplicas: updated, AvailableReplicas: available,
		},
	}
}

func readyPod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func waitingPod(reason string) corev1.Pod {
	return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}}}
}

func TestComputeStatus(t *testing.T) {
	two := []corev1.Pod{readyPod("b"), readyPod("a")}
	refused := deploymentWith(2, 0, 0, 0)
	refused.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"},
	}
	for name, test := range map[string]struct {
		deployment  *appsv1.Deployment
		pods        []corev1.Pod
		refusal     error
		available   metav1.ConditionStatus
		progressing metav1.ConditionStatus
		degraded    string
	}{
		"all is well":                     {deploymentWith(2, 2, 2, 2), two, nil, metav1.ConditionTrue, metav1.ConditionFalse, cachev1alpha1.ReasonAsExpected},
		"a status of an earlier spec":     {deploymentWith(1, 2, 2, 2), two, nil, metav1.ConditionTrue, metav1.ConditionTrue, cachev1alpha1.ReasonAsExpected},
		"pods of an earlier template":     {deploymentWith(2, 3, 1, 2), two, nil, metav1.ConditionTrue, metav1.ConditionTrue, cachev1alpha1.ReasonAsExpected},
		"a pod is not available":          {deploymentWith(2, 2, 2, 1), two, nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonAsExpected},
		"a pod that was not read yet":     {deploymentWith(2, 2, 2, 2), two[:1], nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonAsExpected},
		"no Deployment":                   {nil, nil, errors.New("forbidden"), metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonDeploymentRefused},
		"no pods":                         {refused, nil, nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonPodsRefused},
		"an image that can't be pulled":   {deploymentWith(2, 2, 2, 0), []corev1.Pod{waitingPod("ErrImagePull")}, nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonPodsFailing},
		"the same, under its second name": {deploymentWith(2, 2, 2, 0), []corev1.Pod{waitingPod("ImagePullBackOff")}, nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonPodsFailing},
		"memcached crashes":               {deploymentWith(2, 2, 2, 0), []corev1.Pod{waitingPod("CrashLoopBackOff")}, nil, metav1.ConditionFalse, metav1.ConditionTrue, cachev1alpha1.ReasonPodsFailing},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			mc := memcachedOfSize(2)
			mc.Generation = 7
			status := computeStatus(mc, test.deployment, test.pods, test.refusal)
			g.Expect(status.Conditions).To(HaveLen(3))
			g.Expect(status.Conditions).To(HaveEach(HaveField("ObservedGeneration", BeEquivalentTo(7))))
			g.Expect(meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionAvailable).Status).To(Equal(test.available))
			g.Expect(meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing).Status).To(Equal(test.progressing))
			g.Expect(meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionDegraded).Reason).To(Equal(test.degraded))
		})
	}
}

func TestNodesAreSorted(t *testing.T) {
	terminating := readyPod("c")
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	NewWithT(t).Expect(readyPods([]corev1.Pod{readyPod("b"), waitingPod("x"), terminating, readyPod("a")})).To(Equal([]string{"a", "b"}))
}

func TestTheSameStatusIsEqual(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	mc.Status = computeStatus(mc, deploymentWith(2, 1, 1, 1), []corev1.Pod{readyPod("a")}, nil)
	for i := range mc.Status.Conditions {
		mc.Status.Conditions[i].LastTransitionTime = metav1.Unix(1, 0) // long ago
	}
	g.Expect(computeStatus(mc, deploymentWith(2, 1, 1, 1), []corev1.Pod{readyPod("a")}, nil)).To(Equal(mc.Status))
}

// recorded holds the object and the action of each recorded event.
type recorded struct {
	objects []runtime.Object
	actions []string
}

func (r *recorded) Eventf(about, _ runtime.Object, _, _, action, _ string, _ ...any) {
	r.objects, r.actions = append(r.objects, about), append(r.actions, action)
}

// An event that names a resourceVersion differs for each version, so it never counts as a repetition.
func TestEventsNameNoVersion(t *testing.T) {
	g := NewWithT(t)
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", UID: "1", ResourceVersion: "7"}}
	status := cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}}}
	var events recorded
	(&MemcachedReconciler{Recorder: &events}).record(mc, status)
	g.Expect(events.objects).To(HaveExactElements(And(HaveField("Name", "cache"), HaveField("ResourceVersion", ""))))
	g.Expect(mc.ResourceVersion).To(Equal("7"), "expected the Memcached to be left as it is")
}

// If only the message differs, the recorder counts the event as a repetition and drops the message.
func TestEventsWithOtherMessagesHaveOtherActions(t *testing.T) {
	g := NewWithT(t)
	var events recorded
	for _, message := range []string{"no create", "no patch", "no create"} {
		(&MemcachedReconciler{Recorder: &events}).record(&cachev1alpha1.Memcached{}, cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
			{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Message: message},
		}})
	}
	g.Expect(events.actions).To(HaveExactElements(HavePrefix("Reconcile-"), Not(Equal(events.actions[0])), Equal(events.actions[0])))
}

// The order of the two events is undefined, because record ranges over a map.
func TestBothEventsAreRecorded(t *testing.T) {
	var events recorded
	(&MemcachedReconciler{Recorder: &events}).record(&cachev1alpha1.Memcached{}, cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
		{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Message: "up"},
		{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Message: "failing"},
	}})
	NewWithT(t).Expect(events.actions).To(ConsistOf(action("up"), action("failing")))
}
