package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// reported sets Progressing in the last status, with this age.
func reported(status metav1.ConditionStatus, reason string, ago time.Duration) func(*snapshot) {
	return func(s *snapshot) {
		s.previous.Conditions = []metav1.Condition{{
			Type: cachev1alpha1.ConditionProgressing, Status: status, Reason: reason,
			ObservedGeneration: s.memcached.Generation, LastTransitionTime: metav1.NewTime(s.now.Add(-ago)),
		}}
	}
}

// underWay makes Progressing true for this long.
func underWay(ago time.Duration) func(*snapshot) {
	return reported(metav1.ConditionTrue, cachev1alpha1.ReasonStartingReplicas, ago)
}

// deadlineReported makes the last status report that the deadline has passed.
func deadlineReported(s *snapshot) {
	reported(metav1.ConditionFalse, cachev1alpha1.ReasonProgressDeadlineExceeded, time.Minute)(s)
	s.deployment.created = metav1.NewTime(s.now.Add(-2 * testDeadline))
}

// created sets the age of a pod.
func created(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(testSnapshot(1).now.Add(-ago)) }
}

func running(p *corev1.Pod) {
	inContainer(func(status *corev1.ContainerStatus) { status.State.Running = &corev1.ContainerStateRunning{} })(p)
}

func overdueRollout(s *snapshot) { s.deployment.overdue = true }

func paused(s *snapshot) { s.deployment.paused = true }

// withCurrentReplicaSet gives the Deployment a ReplicaSet of the current configuration.
func withCurrentReplicaSet(s *snapshot) {
	s.replicaSets[0].Labels = map[string]string{cachev1alpha1.LabelTemplateHash: currentHash}
}

func anotherSpec(s *snapshot) { s.memcached.Generation++ }

var (
	starting = []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"}
	serving  = []string{"Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected"}
)

// overdue returns the conditions after the deadline, given what the pods show.
func overdue(reason string) []string {
	return []string{"Available=False/ReplicasNotReady", "Progressing=False/ProgressDeadlineExceeded", "Degraded=True/" + reason}
}

var deadlineCases = []statusCase{
	{name: "no pods, in time", snapshot: testSnapshot(1).with(underWay(testDeadline - time.Second)), want: starting},
	{name: "no pods", snapshot: testSnapshot(1).with(underWay(testDeadline)), want: overdue("ProgressDeadlineExceeded")},
	{name: "no status of the pod", snapshot: testSnapshot(1, pod("a")).with(underWay(testDeadline)), want: overdue("ContainerCreationStuck")},
	{name: "stuck in creation", snapshot: testSnapshot(1, pod("a", waiting("ContainerCreating"))).with(underWay(testDeadline)), want: overdue("ContainerCreationStuck")},
	{name: "never ready", snapshot: testSnapshot(2, pod("a", running, notReady), pod("b", running, notReady)).with(underWay(testDeadline)), want: overdue("ProbeFailed")},
	{name: "ready, and the pod is not", snapshot: testSnapshot(1, pod("a", recovered, notReady)).with(underWay(testDeadline)), want: overdue("ProgressDeadlineExceeded")},
	{name: "never ready, in time", snapshot: testSnapshot(1, pod("a", running, notReady)).with(underWay(testDeadline - time.Second)), want: starting},
	{name: "a failure that shows at once", snapshot: testSnapshot(1, pod("a", waiting("ErrImagePull"))).with(underWay(testDeadline)), want: overdue("ImagePullFailed")},
	{
		name:     "an old pod that is never replaced",
		snapshot: testSnapshot(1, pod("a", ready, outdated), pod("b", waiting("ContainerCreating"))).with(underWay(testDeadline)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/ProgressDeadlineExceeded", "Degraded=True/ContainerCreationStuck"},
		nodes:    []string{"a"},
	},
	{
		name:     "a pod that never goes",
		snapshot: testSnapshot(1, pod("a", ready), pod("b", ready)).with(underWay(testDeadline)),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/ProgressDeadlineExceeded", "Degraded=True/ProgressDeadlineExceeded"},
		nodes:    []string{"a", "b"},
	},
	{
		name: "a Deployment that never goes",
		snapshot: testSnapshot(1).with(underWay(testDeadline)).with(func(s *snapshot) {
			s.deployment.terminating = true
		}),
		want: []string{"Available=False/DeploymentTerminating", "Progressing=False/ProgressDeadlineExceeded", "Degraded=True/ProgressDeadlineExceeded"},
	},
	{
		name:     "ready pods that nobody counts",
		snapshot: testSnapshot(1, pod("a", ready)).with(underWay(testDeadline)).with(func(s *snapshot) { s.deployment.ready = 0 }),
		want:     overdue("ProgressDeadlineExceeded"),
		nodes:    []string{"a"},
	},
	{name: "all is well since long", snapshot: testSnapshot(1, pod("a", ready)).with(underWay(testDeadline)), want: serving, nodes: []string{"a"}},

	{name: "a new pod", snapshot: testSnapshot(1, pod("a", created(testDeadline-time.Second))).with(underWay(2 * testDeadline)), want: starting},
	{name: "an old pod", snapshot: testSnapshot(1, pod("a", created(testDeadline))).with(underWay(2 * testDeadline)), want: overdue("ContainerCreationStuck")},
	{
		name: "a new Deployment",
		snapshot: testSnapshot(1).with(underWay(2 * testDeadline)).with(func(s *snapshot) {
			s.deployment.created = metav1.NewTime(s.now.Add(time.Second - testDeadline))
		}),
		want: starting,
	},
	{
		name:     "a pod that was lost just now",
		snapshot: testSnapshot(1, pod("a", created(3*testDeadline))).with(reported(metav1.ConditionFalse, cachev1alpha1.ReasonConverged, 2*testDeadline)),
		want:     starting,
	},
	{name: "another spec", snapshot: testSnapshot(1).with(underWay(testDeadline)).with(anotherSpec), want: starting},

	{name: "given up", snapshot: testSnapshot(1, pod("a", created(testDeadline))).with(deadlineReported), want: overdue("ContainerCreationStuck")},
	{name: "given up, and a new pod", snapshot: testSnapshot(1, pod("a", created(time.Second))).with(deadlineReported), want: starting},
	{name: "given up, and another spec", snapshot: testSnapshot(1).with(deadlineReported).with(anotherSpec), want: starting},
	{name: "given up, and well", snapshot: testSnapshot(1, pod("a", ready)).with(deadlineReported), want: serving, nodes: []string{"a"}},

	{name: "the Deployment's deadline", snapshot: testSnapshot(1).with(underWay(time.Second)).with(overdueRollout), want: overdue("ProgressDeadlineExceeded")},
	{name: "the Deployment's deadline, of another spec", snapshot: testSnapshot(1).with(underWay(time.Second)).with(overdueRollout).with(anotherSpec), want: starting},
	{name: "the Deployment's deadline, and well", snapshot: testSnapshot(1, pod("a", ready)).with(underWay(time.Second)).with(overdueRollout), want: serving, nodes: []string{"a"}},

	{
		name:     "paused with an old pod",
		snapshot: testSnapshot(1, pod("a", ready, outdated)).with(underWay(time.Second)).with(paused),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/DeploymentPaused"},
		nodes:    []string{"a"},
	},
	{
		name:     "paused before the first pod",
		snapshot: testSnapshot(1).with(paused),
		want:     []string{"Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/DeploymentPaused"},
	},
	{
		name:     "paused, and a pod that fails",
		snapshot: testSnapshot(1, pod("a", ready, outdated), pod("b", waiting("ErrImagePull"))).with(paused),
		want:     []string{"Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/ImagePullFailed"},
		nodes:    []string{"a"},
	},
	{name: "paused, and well", snapshot: testSnapshot(1, pod("a", ready)).with(paused).with(withCurrentReplicaSet), want: serving, nodes: []string{"a"}},
	{name: "paused while it scales", snapshot: testSnapshot(2, pod("a", notReady)).with(paused).with(withCurrentReplicaSet), want: starting},
}

// No event reports that time has passed, so the operator asks to be called again.
func TestRequeuedAtTheDeadline(t *testing.T) {
	f := newFakeCluster(t, 2)
	f.reconcile()
	expectRecheck := func(want time.Duration) {
		t.Helper()
		if d := want - f.recheck; d < 0 || d > time.Minute {
			t.Errorf("called again after %s, want %s", f.recheck, want)
		}
	}
	expectRecheck(testDeadline)

	setStarted := func(ago time.Duration) {
		t.Helper()
		mc := f.memcached()
		for i := range mc.Status.Conditions {
			mc.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-ago))
		}
		if err := f.api.Status().Update(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		f.restartOperator(testImage) // which reads the times from the API
	}
	setStarted(testDeadline / 2)
	expectWrites(t, f.reconcile())
	expectRecheck(testDeadline / 2)

	setStarted(testDeadline)
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, overdue("ProgressDeadlineExceeded")...)
	if f.recheck != testRecheck {
		t.Errorf("called again after %s, want %s: what the pods show may change", f.recheck, testRecheck)
	}
	f.restartOperator(testImage)
	expectWrites(t, f.reconcile())

	f.start()
	expectConditions(t, f, serving...)
	if f.recheck != 0 {
		t.Errorf("called again after %s, want it to wait for changes", f.recheck)
	}
}
