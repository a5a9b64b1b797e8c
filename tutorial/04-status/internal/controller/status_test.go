package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
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

func TestComputeStatus(t *testing.T) {
	two := []corev1.Pod{readyPod("b"), readyPod("a")}
	for name, test := range map[string]struct {
		deployment  *appsv1.Deployment
		pods        []corev1.Pod
		available   metav1.ConditionStatus
		progressing metav1.ConditionStatus
	}{
		"all is well":                 {deploymentWith(2, 2, 2, 2), two, metav1.ConditionTrue, metav1.ConditionFalse},
		"a status of an earlier spec": {deploymentWith(1, 2, 2, 2), two, metav1.ConditionTrue, metav1.ConditionTrue},
		"pods of an earlier template": {deploymentWith(2, 3, 1, 2), two, metav1.ConditionTrue, metav1.ConditionTrue},
		"a pod is not available":      {deploymentWith(2, 2, 2, 1), two, metav1.ConditionFalse, metav1.ConditionTrue},
		"a pod that was not read yet": {deploymentWith(2, 2, 2, 2), two[:1], metav1.ConditionFalse, metav1.ConditionTrue},
		"no pods":                     {deploymentWith(1, 0, 0, 0), nil, metav1.ConditionFalse, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			mc := memcachedOfSize(2)
			mc.Generation = 7
			status := computeStatus(mc, test.deployment, test.pods)
			g.Expect(status.Conditions).To(HaveLen(2))
			g.Expect(status.Conditions).To(HaveEach(HaveField("ObservedGeneration", BeEquivalentTo(7))))
			g.Expect(meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionAvailable).Status).To(Equal(test.available))
			g.Expect(meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing).Status).To(Equal(test.progressing))
		})
	}
}

func TestNodesAreSorted(t *testing.T) {
	terminating := readyPod("c")
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	starting := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
	NewWithT(t).Expect(readyPods([]corev1.Pod{readyPod("b"), starting, terminating, readyPod("a")})).To(Equal([]string{"a", "b"}))
}

func TestTheSameStatusIsEqual(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	mc.Status = computeStatus(mc, deploymentWith(2, 1, 1, 1), []corev1.Pod{readyPod("a")})
	for i := range mc.Status.Conditions {
		mc.Status.Conditions[i].LastTransitionTime = metav1.Unix(1, 0) // long ago
	}
	g.Expect(computeStatus(mc, deploymentWith(2, 1, 1, 1), []corev1.Pod{readyPod("a")})).To(Equal(mc.Status))
}

// Other programs may report conditions, too.
func TestConditionsOfOthersStay(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	audited := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly"}
	mc.Status.Conditions = []metav1.Condition{audited}
	status := computeStatus(mc, deploymentWith(2, 1, 1, 1), []corev1.Pod{readyPod("a")})
	g.Expect(status.Conditions).To(And(HaveLen(3), ContainElement(audited)))
}
