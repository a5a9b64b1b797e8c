package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Parts of a snapshot. The functions return pods of the current configuration; each option changes one.
const (
	deploymentUID        = types.UID("deployment-uid")
	replicaSetUID        = types.UID("replicaset-uid")
	nextReplicaSetUID    = types.UID("next-replicaset-uid")
	foreignReplicaSetUID = types.UID("strange-replicaset-uid")
	currentHash          = "current"
)

func testSnapshot(size int32, pods ...corev1.Pod) snapshot {
	replicaSet := func(uid, owner types.UID) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}}}
	}
	mc := testMemcached(size)
	mc.Generation = 7
	return snapshot{
		memcached:    mc,
		deployment:   deploymentState{uid: deploymentUID, replicas: size, ready: countReady(pods), observed: true},
		replicaSets:  []metav1.PartialObjectMetadata{replicaSet(replicaSetUID, deploymentUID), replicaSet(foreignReplicaSetUID, "predecessor-uid")},
		pods:         pods,
		templateHash: currentHash,

		now:              time.Unix(10_000, 0),
		progressDeadline: testDeadline,
	}
}

// countReady counts as the Deployment's controller does, which ignores the labels.
func countReady(pods []corev1.Pod) int32 {
	var count int32
	for _, pod := range pods {
		if isReady(pod) && pod.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

func pod(name string, options ...func(*corev1.Pod)) corev1.Pod {
	result := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            name,
		Labels:          map[string]string{cachev1alpha1.LabelTemplateHash: currentHash},
		OwnerReferences: []metav1.OwnerReference{{UID: replicaSetUID, Controller: new(true)}},
	}}
	for _, option := range options {
		option(&result)
	}
	return result
}

// revisions gives the Deployment a revision, and its ReplicaSets theirs. The second one is that of pods with ownedByNext.
func revisions(deployment string, replicaSets ...string) func(*snapshot) {
	return func(s *snapshot) {
		s.deployment.revision = deployment
		for i, revision := range replicaSets {
			replicaSet := *s.replicaSets[0].DeepCopy()
			if i > 0 {
				replicaSet.UID = nextReplicaSetUID
			}
			replicaSet.Annotations = map[string]string{annotationRevision: revision}
			s.replicaSets = append(s.replicaSets, replicaSet)
		}
		s.replicaSets = s.replicaSets[1:]
	}
}

func ownedByNext(p *corev1.Pod) { p.OwnerReferences[0].UID = nextReplicaSetUID }

func ready(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

func notReady(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
}

func deleting(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func outdated(p *corev1.Pod) { p.Labels[cachev1alpha1.LabelTemplateHash] = "earlier" }

func withoutHash(p *corev1.Pod) { p.Labels = nil }

func ownedByNobody(p *corev1.Pod) { p.OwnerReferences = nil }

func ownedByForeign(p *corev1.Pod) { p.OwnerReferences[0].UID = foreignReplicaSetUID }

func notControlled(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

// container adds the status of a container that is not ready.
func inContainer(change func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		status := corev1.ContainerStatus{Name: containerName, Image: testImage}
		change(&status)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	}
}

func waiting(reason string) func(*corev1.Pod) {
	return inContainer(func(status *corev1.ContainerStatus) {
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: "for now"}
	})
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes",
	})
}

// statusCase is a snapshot and its expected status. The cases of every table are checked against ConditionReasons.
type statusCase struct {
	name     string
	snapshot snapshot
	want     []string
	nodes    []string
}

func (s snapshot) with(change func(*snapshot)) snapshot {
	change(&s)
	return s
}

var statusCases = []statusCase{
	{
		name:     "no pods yet",
		snapshot: testSnapshot(1),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
	{
		name:     "some ready",
		snapshot: testSnapshot(3, pod("c", notReady), pod("b", ready), pod("a", ready)),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "all ready",
		snapshot: testSnapshot(2, pod("b", ready), pod("a", ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "one ready behind others that do not count",
		snapshot: testSnapshot(1, pod("a", ready, deleting), pod("b", ready, ownedByForeign), pod("c", notReady, outdated, deleting), pod("d", ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"d"},
	},
	{
		name:     "more than asked for",
		snapshot: testSnapshot(1, pod("b", ready), pod("a", ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RemovingReplicas", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "one more than asked for that is not ready",
		snapshot: testSnapshot(1, pod("b", notReady), pod("a", ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RemovingReplicas", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "pods that do not count",
		snapshot: testSnapshot(1, pod("a", ready, deleting), pod("b", ready, ownedByNobody), pod("c", ready, ownedByForeign), pod("d", ready, notControlled), pod("e", ready, phase(corev1.PodFailed)), pod("f", ready, phase(corev1.PodSucceeded))),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
	},
	{
		name:     "pods that do not count do not delay convergence",
		snapshot: testSnapshot(1, pod("a", ready), pod("b", outdated, deleting), pod("c", waiting("ErrImagePull"), deleting), pod("d", phase(corev1.PodFailed))),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "rollout starts",
		snapshot: testSnapshot(2, pod("a", ready, outdated), pod("b", ready, withoutHash)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "rollout that loses a replica",
		snapshot: testSnapshot(2, pod("a", ready, outdated), pod("b", notReady)),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "rollout that fails and loses none",
		snapshot: testSnapshot(1, pod("a", ready, outdated), pod("b", waiting("ErrImagePull"))),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=True/ImagePullFailed"},
		nodes:    []string{"a"},
	},
	{
		name:     "rollout is complete",
		snapshot: testSnapshot(1, pod("a", ready, outdated), pod("b", ready)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "restart, whose ReplicaSet is not in the cache yet",
		snapshot: testSnapshot(2, pod("a", ready), pod("b", ready)).with(revisions("2", "1")),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "restart, between two pods",
		snapshot: testSnapshot(2, pod("a", ready), pod("b", ready, ownedByNext)).with(revisions("2", "1", "2")),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "restart that fails",
		snapshot: testSnapshot(1, pod("a", ready), pod("b", waiting("ErrImagePull"), ownedByNext)).with(revisions("2", "1", "2")),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=True/ImagePullFailed"},
		nodes:    []string{"a"},
	},
	{
		name:     "restart is complete",
		snapshot: testSnapshot(2, pod("a", ready, ownedByNext), pod("b", ready, ownedByNext), pod("c", ready, deleting)).with(revisions("2", "1", "2")),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"a", "b"},
	},
	{
		name:     "no revision yet",
		snapshot: testSnapshot(1, pod("a", ready)).with(revisions("", "1")),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "the Deployment is being deleted",
		snapshot: testSnapshot(1, pod("a", ready)).with(func(s *snapshot) { s.deployment.terminating, s.deployment.observed = true, false }),
		want:     []string{"Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
	{
		name:     "the Deployment of a predecessor is being deleted",
		snapshot: testSnapshot(1, pod("a", ready, ownedByForeign)).with(func(s *snapshot) { s.deployment = deploymentState{terminating: true, replicas: 4} }),
		want:     []string{"Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected"},
	},
	{
		name:     "too few ready, before the Deployment's controller has seen the spec",
		snapshot: testSnapshot(2, pod("a", ready)).with(func(s *snapshot) { s.deployment.observed = false }),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
		nodes:    []string{"a"},
	},
}

func everyCase() []statusCase { return slices.Concat(statusCases, failureCases, deadlineCases) }

func TestStatus(t *testing.T) {
	for _, test := range everyCase() {
		t.Run(test.name, func(t *testing.T) {
			test.snapshot.deployment.replicas = 4
			status, settled := computeStatus(test.snapshot)
			if !settled {
				t.Fatal("too early to tell, want a status")
			}
			if diff := cmp.Diff(test.want, conditionStrings(status)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			for _, condition := range status.Conditions {
				if want := test.snapshot.memcached.Generation; condition.ObservedGeneration != want {
					t.Errorf("%s has observedGeneration %d, want %d", condition.Type, condition.ObservedGeneration, want)
				}
				if condition.Message == "" {
					t.Errorf("%s has no message", condition.Type)
				}
			}
			want := cachev1alpha1.MemcachedStatus{
				Conditions: status.Conditions, Nodes: test.nodes, ReadyReplicas: int32(len(test.nodes)), Replicas: 4,
				Selector: cachev1alpha1.LabelMemcachedUID + "=memcached-uid",
			}
			if diff := cmp.Diff(want, status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoStatusBeforeTheDeploymentIsObserved(t *testing.T) {
	s := testSnapshot(1, pod("a", ready), pod("b", ready))
	s.deployment.observed = false
	if _, settled := computeStatus(s); settled {
		t.Error("got a status, but the pods may be about to go")
	}
}

// The operator may see pods before or after the Deployment's controller has counted them.
func TestAvailableNeedsPodsAndDeployment(t *testing.T) {
	for name, test := range map[string]struct {
		pods         []corev1.Pod
		counted      int32
		wasAvailable bool
		settled      bool
		want         string // Available, if it is not too early to tell
	}{
		"both":                                {[]corev1.Pod{pod("a", ready), pod("b", ready)}, 2, false, true, "Available=True/AllReplicasReady"},
		"not counted yet":                     {[]corev1.Pod{pod("a", ready), pod("b", ready)}, 1, false, false, ""},
		"counted, and not seen yet":           {[]corev1.Pod{pod("a", ready)}, 2, false, true, "Available=False/ReplicasNotReady"},
		"lost, which the controller sees":     {[]corev1.Pod{pod("a", ready), pod("b", ready)}, 1, true, true, "Available=False/ReplicasNotReady"},
		"lost, which only the operator sees":  {[]corev1.Pod{pod("a", ready), pod("b", notReady)}, 2, true, true, "Available=False/ReplicasNotReady"},
		"none lost":                           {[]corev1.Pod{pod("a", ready), pod("b", ready)}, 2, true, true, "Available=True/AllReplicasReady"},
		"neither, and there is more to await": {[]corev1.Pod{pod("a", ready)}, 1, false, true, "Available=False/ReplicasNotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSnapshot(2, test.pods...)
			s.deployment.ready = test.counted
			if test.wasAvailable {
				served(&s)
			}
			status, settled := computeStatus(s)
			if settled != test.settled {
				t.Fatalf("settled = %t, want %t", settled, test.settled)
			}
			if !settled {
				return
			}
			if got := conditionStrings(status)[0]; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			// While there are too few ready pods, the Deployment's count does not change the status.
			if countReady(test.pods) < 2 {
				s.deployment.ready = 0
				if slower, _ := computeStatus(s); !sameStatus(slower, status) {
					t.Errorf("with a Deployment that has counted none, the status is %+v, want %+v", slower, status)
				}
			}
			if counted := fmt.Sprintf("%d of 2 ", min(countReady(test.pods), test.counted)); !strings.HasPrefix(status.Conditions[0].Message, counted) {
				t.Errorf("message = %q, want it to start with %q", status.Conditions[0].Message, counted)
			}
		})
	}
}

// The operator may see a pod before it sees the pod's ReplicaSet.
func TestPodOfUnknownReplicaSet(t *testing.T) {
	unclear := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "replicaset-to-come" }
	for name, test := range map[string]struct {
		snapshot snapshot
		settled  bool
	}{
		"nothing is lost, perhaps":   {testSnapshot(2, pod("a", ready), pod("b", ready, unclear)).with(served), false},
		"it was not available":       {testSnapshot(2, pod("a", ready), pod("b", ready, unclear)), true},
		"too few even so":            {testSnapshot(2, pod("b", ready, unclear)).with(served), true},
		"it is not ready":            {testSnapshot(2, pod("a", ready), pod("b", notReady, unclear)).with(served), true},
		"it is going":                {testSnapshot(2, pod("a", ready), pod("b", ready, unclear, deleting)).with(served), true},
		"it is known to be foreign":  {testSnapshot(2, pod("a", ready), pod("b", ready, ownedByForeign)).with(served), true},
		"nobody controls it":         {testSnapshot(2, pod("a", ready), pod("b", ready, notControlled)).with(served), true},
		"enough without it":          {testSnapshot(1, pod("a", ready), pod("b", ready, unclear)).with(served), true},
		"unknown until the deadline": {testSnapshot(2, pod("a", ready), pod("b", ready, unclear)).with(underWay(testDeadline)).with(served), true},
		"unknown, but there is time": {testSnapshot(2, pod("a", ready), pod("b", ready, unclear)).with(underWay(time.Second)).with(served), false},
	} {
		t.Run(name, func(t *testing.T) {
			status, settled := computeStatus(test.snapshot)
			if settled != test.settled {
				t.Errorf("settled = %t, want %t: %q", settled, test.settled, conditionStrings(status))
			}
		})
	}
}

// served makes the last status report Available.
func served(s *snapshot) {
	s.previous.Conditions = append(s.previous.Conditions, metav1.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue})
}

func TestStateOf(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name       string
		deployment appsv1.Deployment
		want       deploymentState
	}{
		{"just created", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}},
			deploymentState{uid: "u", replicas: 3}},
		{"observed", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2}},
			deploymentState{observed: true}},
		{"changed since", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2}},
			deploymentState{}},
		{"without pods", appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Message: "progress"},
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "quota"},
		}}}, deploymentState{observed: true, podsRefused: "quota"}},
		{"with pods again", appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Message: "quota"},
		}}}, deploymentState{observed: true}},
		{"paused", appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true}}, deploymentState{observed: true, paused: true}},
		{"old", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: now}}, deploymentState{observed: true, created: now}},
		{"too slow", appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		}}}, deploymentState{observed: true, overdue: true}},
		{"too slow, and changed since", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		}}}, deploymentState{}},
		{"on its way", appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionUnknown, Reason: "DeploymentPaused"},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		}}}, deploymentState{observed: true}},
		{"being deleted", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}},
			deploymentState{observed: true, terminating: true}},
	} {
		if got := stateOf(&test.deployment); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// The table for users lists what the operator reports, and nothing else.
func TestConditionReasonsAreComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range cachev1alpha1.ConditionReasons() {
		listed[fmt.Sprintf("%s=%s/%s", row.Type, row.Status, row.Reason)] = true
	}
	seen := map[string]bool{}
	for _, test := range everyCase() {
		for _, condition := range test.want {
			seen[condition] = true
		}
	}
	if diff := cmp.Diff(listed, seen); diff != "" {
		t.Errorf("ConditionReasons() and the cases of TestStatus differ (-listed +seen):\n%s", diff)
	}
}

func TestTransitionTimes(t *testing.T) {
	earlier, now := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	condition := func(conditionType string, status metav1.ConditionStatus, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, LastTransitionTime: at}
	}
	previous := cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
		condition("Available", metav1.ConditionFalse, earlier),
		condition("Progressing", metav1.ConditionTrue, earlier),
	}}
	status := cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
		condition("Available", metav1.ConditionTrue, metav1.Time{}),
		condition("Progressing", metav1.ConditionTrue, metav1.Time{}),
		condition("Degraded", metav1.ConditionFalse, metav1.Time{}),
	}}
	got := withTransitionTimes(status, previous, now)
	for conditionType, want := range map[string]metav1.Time{"Available": now, "Progressing": earlier, "Degraded": now} {
		if at := meta.FindStatusCondition(got.Conditions, conditionType).LastTransitionTime; !at.Equal(&want) {
			t.Errorf("%s changed at %s, want %s", conditionType, at, want)
		}
	}
	if !status.Conditions[0].LastTransitionTime.IsZero() {
		t.Error("the argument was changed")
	}
}

func TestSameStatus(t *testing.T) {
	base, _ := computeStatus(testSnapshot(2, pod("a", ready), pod("b", ready)))
	for _, test := range []struct {
		name   string
		change func(*cachev1alpha1.MemcachedStatus)
		want   bool
	}{
		{"nothing", func(*cachev1alpha1.MemcachedStatus) {}, true},
		{"a time", func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].LastTransitionTime = metav1.Now() }, true},
		{"the order of conditions", func(s *cachev1alpha1.MemcachedStatus) { slices.Reverse(s.Conditions) }, true},
		{"somebody else's condition", func(s *cachev1alpha1.MemcachedStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: "Audited"})
		}, true},
		{"no nodes in another form", func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = append([]string{}, s.Nodes...) }, true},
		{"a reason", func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[1].Reason = "Other" }, false},
		{"a message", func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[1].Message = "Other" }, false},
		{"a generation", func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[2].ObservedGeneration++ }, false},
		{"a condition less", func(s *cachev1alpha1.MemcachedStatus) { s.Conditions = s.Conditions[1:] }, false},
		{"nodes", func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = s.Nodes[1:] }, false},
		{"replicas", func(s *cachev1alpha1.MemcachedStatus) { s.Replicas++ }, false},
		{"readyReplicas", func(s *cachev1alpha1.MemcachedStatus) { s.ReadyReplicas++ }, false},
		{"selector", func(s *cachev1alpha1.MemcachedStatus) { s.Selector = "" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			other := *base.DeepCopy()
			test.change(&other)
			if got := sameStatus(base, other); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
