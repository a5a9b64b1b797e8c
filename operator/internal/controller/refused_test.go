package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// refuse makes the API server refuse these writes with err.
func (f *fakeCluster) refuse(write string, err error) {
	f.fail = func(name string, after bool) error {
		if after || name != write {
			return nil
		}
		return err
	}
}

func TestRefusedCreationIsReportedAndRetried(t *testing.T) {
	for reason, refused := range map[string]error{
		"QuotaExceeded": errQuota,
		"Forbidden":     errPermission,
		"Invalid":       errField,
	} {
		t.Run(reason, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.refuse(createDeployment, refused)
			for range 3 {
				// Any refused write may be allowed later, and no event says so.
				if err := f.reconcileOnce(); !errors.Is(err, refused) || errors.Is(err, reconcile.TerminalError(nil)) {
					t.Fatalf("error = %v, want %v, not terminal", err, refused)
				}
			}
			expectWrites(t, f.writes, patchStatus)
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/"+reason)
			degraded := meta.FindStatusCondition(f.memcached().Status.Conditions, cachev1alpha1.ConditionDegraded)
			if want := refusalOf(refused).message; degraded.Message != want {
				t.Errorf("message = %q, want %q", degraded.Message, want)
			}
			expectEvents(t, f, "Warning "+reason)

			f.fail = nil
			expectWrites(t, f.reconcile(), createDeployment, patchStatus)
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
			expectEvents(t, f, "Warning "+reason, "Normal Recovered")
		})
	}
}

// A change that is refused does not affect the running pods.
func TestRefusedChangeIsReportedAndRetried(t *testing.T) {
	f := newFakeCluster(t, 3)
	f.start()
	f.refuse(patchDeployment, errPermission)
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
	for range 2 {
		if err := f.reconcileOnce(); !errors.Is(err, errPermission) {
			t.Errorf("error = %v, want %v", err, errPermission)
		}
	}
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/Forbidden")
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 5 })
	if err := f.reconcileOnce(); !errors.Is(err, errPermission) {
		t.Errorf("error = %v, want %v", err, errPermission)
	}
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Forbidden")
	if status := f.memcached().Status; status.ReadyReplicas != 3 || status.Replicas != 3 {
		t.Errorf("%d of %d replicas ready, want the 3 of 3 that there are", status.ReadyReplicas, status.Replicas)
	}

	f.fail = nil
	expectWrites(t, f.reconcile(), patchDeployment, applyDeployment, patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	expectEvents(t, f, "Warning Forbidden", "Normal Recovered")
}

// The operator does not act on a spec that our schema would refuse.
func TestInvalidSpec(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(0)) })
	for range 2 {
		if err := f.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("error = %v, want a terminal one", err)
		}
	}
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/Invalid")
	if slices.Contains(f.writes, applyDeployment) {
		t.Errorf("writes = %q, want the Deployment left as it was", f.writes)
	}
	expectEvents(t, f, "Warning Invalid")

	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort, spec.Size = nil, nil })
	f.reconcile()
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	expectEvents(t, f, "Warning Invalid", "Normal Recovered")
}

// An invalid size is a failure like any other, even before there is a Deployment.
func TestInvalidSpecFromTheStart(t *testing.T) {
	for _, size := range []int32{0, -1} {
		f := newFakeCluster(t, size)
		if err := f.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("size %d: error = %v, want a terminal one", size, err)
		}
		expectWrites(t, f.writes, patchStatus)
		expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Invalid")

		f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 1 })
		f.start()
		expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	}
}

// The state of a Deployment that the operator does not own says nothing about the Memcached.
func TestInvalidSpecBesideAForeignDeployment(t *testing.T) {
	f := newFakeCluster(t, 0)
	f.newDeployment(func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{"example.com/hold"} })
	f.delete(f.deployment())
	if err := f.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want a terminal one", err)
	}
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Invalid")
}

func TestRefusedPodsAreReported(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.reconcile()
	fail := func(status corev1.ConditionStatus, pod string) {
		deployment := f.deployment()
		deployment.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: status, Reason: "FailedCreate",
			Message: `pods "sessions-1-` + pod + `" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
		}}
		if err := f.api.Status().Update(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
	}
	fail(corev1.ConditionTrue, "aaaaa")
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=True/QuotaExceeded")
	fail(corev1.ConditionTrue, "bbbbb")
	expectWrites(t, f.reconcile())
	fail(corev1.ConditionFalse, "bbbbb")
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	expectEvents(t, f, "Warning QuotaExceeded", "Normal Recovered")
}

// Nothing can be created in a namespace that is being deleted, and that is not a failure.
func TestTerminatingNamespace(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	first := len(f.writes)
	f.delete(f.deployment())
	f.refuse(createDeployment, errNamespace)
	for range 2 {
		if err := f.reconcileOnce(); err != nil || f.recheck != 0 {
			t.Errorf("error = %v, called again after %s, want neither", err, f.recheck)
		}
	}
	expectWrites(t, f.writes[first:])
	expectEvents(t, f)
}

// An error that may not occur at the next attempt is retried, and not reported as a failure.
func TestTransientErrorsAreNotReported(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.refuse(createDeployment, errors.New("connection refused"))
	if err := f.reconcileOnce(); err == nil || !strings.Contains(err.Error(), "connection refused") || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want one that is retried", err)
	}
	expectWrites(t, f.writes)
	expectEvents(t, f)
}
