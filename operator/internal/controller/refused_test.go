package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/lenient"
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
	f.refuse(applyDeployment, errPermission)
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
	expectWrites(t, f.reconcile(), applyDeployment, patchStatus)
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
	fail := func(status corev1.ConditionStatus, pod, uid string) {
		deployment := f.deployment()
		deployment.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: status, Reason: "FailedCreate",
			Message: `pods "sessions-755d5f57d7-` + pod + `" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3, UID ` + uid,
		}}
		if err := f.api.Status().Update(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
	}
	fail(corev1.ConditionTrue, "8js7t", "d9b2d63d-a233-4123-847a-7a5a9e1ea0e5")
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=True/QuotaExceeded")
	fail(corev1.ConditionTrue, "x6qc9", "0a1b2c3d-a233-4123-847a-7a5a9e1ea0e5")
	expectWrites(t, f.reconcile())
	fail(corev1.ConditionFalse, "x6qc9", "")
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

// An error that may not occur at the next attempt is retried, and not reported as a failure. The status is up to date nevertheless.
func TestTransientErrorsAreNotReported(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.refuse(createDeployment, errors.New("connection refused"))
	if err := f.reconcileOnce(); err == nil || !strings.Contains(err.Error(), "connection refused") || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want one that is retried", err)
	}
	expectWrites(t, f.writes, patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	f.fail = nil
	expectWrites(t, f.reconcile(), createDeployment, patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	expectEvents(t, f)
}

// errWebhook is the API server's error while the webhook of another program does not respond.
var errWebhook = apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com": failed to call webhook: Post ` +
	`"https://policy.example.svc:443/?timeout=10s": read tcp 10.0.0.1:55012->10.96.0.7:443: connection reset by peer`))

const webhookMessage = `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post ` +
	`"https://policy.example.svc:443/?timeout=10s": read tcp 10.0.0.1->10.96.0.7:443: connection reset by peer.`

// A failure that lasts is reported like a refusal, whatever the Memcached was before.
func TestLastingFailureIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fakeCluster)
		fails   string
		first   []string
		lasting string
		healed  []string
	}{
		"a new Memcached": {
			prepare: func(*fakeCluster) {},
			fails:   createDeployment,
			first:   []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
			lasting: "Available=False/ReplicasNotReady",
			healed:  []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
		},
		"a larger size": {
			prepare: func(f *fakeCluster) {
				f.start()
				f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 5 })
			},
			fails:   applyDeployment,
			first:   []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
			lasting: "Available=False/ReplicasNotReady",
			healed:  []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
		},
		"a smaller size": {
			prepare: func(f *fakeCluster) {
				f.start()
				f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
			},
			fails:   applyDeployment,
			first:   []string{"Available=True/AllReplicasReady", "Progressing=True/RemovingReplicas", "Degraded=False/AsExpected"},
			lasting: "Available=True/AllReplicasReady",
		},
		"a pod that was lost in the meantime": {
			prepare: func(f *fakeCluster) {
				f.start()
				f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
				f.setReady(0, corev1.ConditionFalse)
				f.setReady(1, corev1.ConditionFalse)
			},
			fails:   applyDeployment,
			first:   []string{"Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected"},
			lasting: "Available=False/ReplicasNotReady",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 3)
			test.prepare(f)
			expect := func(when string, conditions ...string) {
				t.Helper()
				for range 3 {
					if err := f.reconcileOnce(); !errors.Is(err, errWebhook) || errors.Is(err, reconcile.TerminalError(nil)) {
						t.Errorf("%s: error = %v, want %v, not terminal", when, err, errWebhook)
					}
				}
				expectConditions(t, f, conditions...)
				for _, condition := range f.memcached().Status.Conditions {
					if want := f.memcached().Generation; condition.ObservedGeneration != want {
						t.Errorf("%s: %s is of generation %d, want %d", when, condition.Type, condition.ObservedGeneration, want)
					}
				}
			}
			f.refuse(test.fails, errWebhook)
			f.reconciler.FailureGrace = time.Hour
			first := len(f.writes)
			expect("at first", test.first...)
			expectWrites(t, f.writes[first:], patchStatus)
			expectEvents(t, f)

			f.reconciler.FailureGrace = 0
			expect("when it lasts", test.lasting, "Progressing=False/Blocked", "Degraded=True/WriteFailed")
			expectWrites(t, f.writes[first:], patchStatus, patchStatus)
			expectEvents(t, f, "Warning WriteFailed")
			if got := degradedOf(f.memcached().Status).Message; got != webhookMessage {
				t.Errorf("message = %q, want %q", got, webhookMessage)
			}

			// An operator that has just started does not take a failure for gone that its predecessor has reported.
			f.restartOperator(testImage)
			f.reconciler.FailureGrace = time.Hour
			expect("after a restart", test.lasting, "Progressing=False/Blocked", "Degraded=True/WriteFailed")
			expectWrites(t, f.writes[first:], patchStatus, patchStatus)

			f.fail = nil
			f.reconcile()
			f.controlDeployment()
			f.reconcile()
			if test.healed != nil {
				expectConditions(t, f, test.healed...)
			}
			if degraded := degradedOf(f.memcached().Status); degraded.Reason != cachev1alpha1.ReasonAsExpected {
				t.Errorf("Degraded is %s/%s once the Deployment can be written", degraded.Status, degraded.Reason)
			}
			expectEvents(t, f, "Warning WriteFailed", "Normal Recovered")
		})
	}
}

// Failures with a success in between are not one that lasts.
func TestFailuresApartAreNotReported(t *testing.T) {
	f := newFakeCluster(t, 2)
	f.start()
	for size := range int32(3) {
		f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 3 + size })
		f.refuse(applyDeployment, errWebhook)
		if err := f.reconcileOnce(); !errors.Is(err, errWebhook) {
			t.Errorf("error = %v, want %v", err, errWebhook)
		}
		f.fail = nil
		f.reconcile()
	}
	expectEvents(t, f)
}

// A Deployment that is not in the cache and can't be read may have its pods or not.
func TestUnreadableDeployment(t *testing.T) {
	f := newFakeCluster(t, 3)
	f.start()
	f.noDeployment = true
	f.reconciler.APIReader = interceptor.NewClient(f.api, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errWebhook
		},
	})
	before, first := f.memcached().Status, len(f.writes)
	if err := f.reconcileOnce(); !errors.Is(err, errWebhook) {
		t.Errorf("error = %v, want %v", err, errWebhook)
	}
	expectWrites(t, f.writes[first:])
	if err := f.reconcileOnce(); !errors.Is(err, errWebhook) {
		t.Errorf("error = %v, want %v", err, errWebhook)
	}
	expectWrites(t, f.writes[first:], patchStatus)
	expectConditions(t, f, "Available=Unknown/DeploymentUnknown", "Progressing=False/Blocked", "Degraded=True/WriteFailed")
	after := f.memcached().Status
	if after.Conditions = before.Conditions; !equality.Semantic.DeepEqual(before, after) {
		t.Errorf("the counts are %+v, want those before: %+v", after, before)
	}
	f.noDeployment, f.reconciler.APIReader = false, f.api
	f.reconcile()
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
}

// The status has time to be written however long the API server waits for a webhook.
func TestDeploymentLeavesTimeForTheStatus(t *testing.T) {
	synctest.Test(t, testTimeForTheStatus) // on a slow machine, two seconds might be over too early
}

func testTimeForTheStatus(t *testing.T) {
	t.Helper()
	f := newFakeCluster(t, 1)
	hanging := interceptor.NewClient(f.api, f.operatorCalls())
	f.reconciler.Client = interceptor.NewClient(hanging, interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
			<-ctx.Done()
			return ctx.Err()
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return c.SubResource(subResource).Patch(ctx, object, patch, options...)
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := f.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: nameOf(f.memcached())})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want %v", err, context.DeadlineExceeded)
	}
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
}

// A Memcached that can't be decoded is named in an event and in the log, where controller-runtime writes the error, and is not retried.
func TestUndecodable(t *testing.T) {
	f := newFakeCluster(t, 1)
	_, undecodable := lenient.Decode(&unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": testNamespace, "name": testName, "uid": "memcached-uid"},
		"spec":     map[string]any{"size": "three"},
	}})
	recorder := &recordedEvent{}
	f.reconciler.Recorder = recorder
	f.reconciler.Client = interceptor.NewClient(f.api, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return undecodable
		},
	})
	if err := f.reconcileOnce(); !errors.Is(err, undecodable) || !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want %v, terminal", err, undecodable)
	}
	expectWrites(t, f.writes)
	regarding := recorder.regarding.(*corev1.ObjectReference)
	if regarding.Kind != "Memcached" || regarding.Name != testName || regarding.UID != "memcached-uid" {
		t.Errorf("the event is about %+v", regarding)
	}
	if recorder.eventType != corev1.EventTypeWarning || recorder.reason != cachev1alpha1.ReasonUndecodable ||
		!strings.HasPrefix(recorder.note, "The Memcached team/sessions can't be decoded: ") {
		t.Errorf("event = %s %s: %s", recorder.eventType, recorder.reason, recorder.note)
	}
}
