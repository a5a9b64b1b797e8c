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
func (w *world) refuse(write string, err error) {
	w.fail = func(name string, after bool) error {
		if after || name != write {
			return nil
		}
		return err
	}
}

func TestRefusedCreationShowsAndHeals(t *testing.T) {
	for reason, refused := range map[string]error{
		"QuotaExceeded": errQuota,
		"Forbidden":     errRight,
		"Invalid":       errField,
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, 1)
			w.refuse(createDeployment, refused)
			for range 3 {
				// Any refused write may be allowed later, and no event says so.
				if err := w.reconcileOnce(); !errors.Is(err, refused) || errors.Is(err, reconcile.TerminalError(nil)) {
					t.Fatalf("error = %v, want %v, not terminal", err, refused)
				}
			}
			expectWrites(t, w.writes, patchStatus)
			expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/"+reason)
			degraded := meta.FindStatusCondition(w.memcached().Status.Conditions, cachev1alpha1.ConditionDegraded)
			if want := refusalOf(refused).message; degraded.Message != want {
				t.Errorf("message = %q, want %q", degraded.Message, want)
			}
			expectEvents(t, w, "Warning "+reason)

			w.fail = nil
			expectWrites(t, w.reconcile(), createDeployment, patchStatus)
			expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
			expectEvents(t, w, "Warning "+reason, "Normal Recovered")
		})
	}
}

// A change that is refused does not affect the running pods.
func TestRefusedChangeShowsAndHeals(t *testing.T) {
	w := newWorld(t, 3)
	w.start()
	w.refuse(patchDeployment, errRight)
	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
	for range 2 {
		if err := w.reconcileOnce(); !errors.Is(err, errRight) {
			t.Errorf("error = %v, want %v", err, errRight)
		}
	}
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/Forbidden")
	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 5 })
	if err := w.reconcileOnce(); !errors.Is(err, errRight) {
		t.Errorf("error = %v, want %v", err, errRight)
	}
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Forbidden")
	if status := w.memcached().Status; status.ReadyReplicas != 3 || status.Replicas != 3 {
		t.Errorf("%d of %d replicas ready, want the 3 of 3 that there are", status.ReadyReplicas, status.Replicas)
	}

	w.fail = nil
	expectWrites(t, w.reconcile(), patchDeployment, applyDeployment, patchStatus)
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	expectEvents(t, w, "Warning Forbidden", "Normal Recovered")
}

// The operator does not act on a spec that our schema would refuse.
func TestInvalidSpec(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(0)) })
	for range 2 {
		if err := w.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("error = %v, want a terminal one", err)
		}
	}
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/Invalid")
	if slices.Contains(w.writes, applyDeployment) {
		t.Errorf("writes = %q, want the Deployment left as it was", w.writes)
	}
	expectEvents(t, w, "Warning Invalid")

	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort, spec.Size = nil, nil })
	w.reconcile()
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	expectEvents(t, w, "Warning Invalid", "Normal Recovered")
}

// An invalid size is a failure like any other, even before there is a Deployment.
func TestInvalidSpecFromTheStart(t *testing.T) {
	for _, size := range []int32{0, -1} {
		w := newWorld(t, size)
		if err := w.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("size %d: error = %v, want a terminal one", size, err)
		}
		expectWrites(t, w.writes, patchStatus)
		expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Invalid")

		w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 1 })
		w.start()
		expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	}
}

// The state of a Deployment that the operator does not own says nothing about the Memcached.
func TestInvalidSpecBesideAForeignDeployment(t *testing.T) {
	w := newWorld(t, 0)
	w.newDeployment(func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{"example.com/hold"} })
	w.delete(w.deployment())
	if err := w.reconcileOnce(); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want a terminal one", err)
	}
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/Invalid")
}

func TestRefusedPodsShowAndHeal(t *testing.T) {
	w := newWorld(t, 1)
	w.reconcile()
	fail := func(status corev1.ConditionStatus, pod string) {
		deployment := w.deployment()
		deployment.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: status, Reason: "FailedCreate",
			Message: `pods "sessions-1-` + pod + `" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
		}}
		if err := w.cluster.Status().Update(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
	}
	fail(corev1.ConditionTrue, "aaaaa")
	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=True/QuotaExceeded")
	fail(corev1.ConditionTrue, "bbbbb")
	expectWrites(t, w.reconcile())
	fail(corev1.ConditionFalse, "bbbbb")
	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	expectEvents(t, w, "Warning QuotaExceeded", "Normal Recovered")
}

// Nothing can be created in a namespace that is being deleted, and that is not a failure.
func TestTerminatingNamespace(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	first := len(w.writes)
	w.delete(w.deployment())
	w.refuse(createDeployment, errNamespace)
	for range 2 {
		if err := w.reconcileOnce(); err != nil || w.recheck != 0 {
			t.Errorf("error = %v, called again after %s, want neither", err, w.recheck)
		}
	}
	expectWrites(t, w.writes[first:])
	expectEvents(t, w)
}

// An error that may not occur at the next try is retried, and not reported as a failure.
func TestPassingErrorsAreNotTold(t *testing.T) {
	w := newWorld(t, 1)
	w.refuse(createDeployment, errors.New("connection refused"))
	if err := w.reconcileOnce(); err == nil || !strings.Contains(err.Error(), "connection refused") || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want one that leads to another try", err)
	}
	expectWrites(t, w.writes)
	expectEvents(t, w)
}
