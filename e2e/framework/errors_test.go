package framework

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLastErrors(t *testing.T) {
	const log = `{"level":"info","ts":"t","msg":"Starting EventSource"}
{"level":"error","ts":"1","msg":"Reconciler error","namespace":"04-status-a","reconcileID":"1","error":"the first"}
{"level":"error","ts":"2","msg":"Reconciler error","namespace":"04-status-a","reconcileID":"2","error":"exceeded quota"}
{"level":"error","ts":"3","msg":"Failed to watch","type":"*v1.Pod","error":"pods is forbidden","stacktrace":"a\n\tb"}
{"level":"error","ts":"4","msg":"Reconciler error","namespace":"04-status-a","reconcileID":"3","error":"exceeded quota"}
{"level":"error","ts":"5","msg":"Reconciler error","namespace":"04-status-b","reconcileID":"4","error":"of another feature"}
2026-11-22T04:51:47Z	ERROR	Reconciler error	{"namespace": "04-status-a", "reconcileID": "5", "error": "conflict"}
2026-11-22T04:51:48Z	ERROR	Reconciler error	{"namespace": "04-status-a", "reconcileID": "6", "error": "conflict"}
2026/11/22 04:51:48 ERROR Again later ticket=04-status-a/ticket error="EOF"
2026/11/22 04:51:48 INFO Booked ticket=04-status-a/ticket
`
	want := []string{"Reconciler error: exceeded quota", "Reconciler error\t{\"namespace\": \"04-status-a\", \"error\": \"conflict\"}", `Again later ticket=04-status-a/ticket error="EOF"`}
	if got := lastErrors([]byte(log), "04-status-a", "04-status-", 3); !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
	// An operator that is stopped before its caches have synced says so, which is not a fault. Otherwise it may be one.
	const stopped = `{"level":"info","ts":"1","msg":"Starting EventSource"}
{"level":"info","ts":"2","msg":"Stopping and waiting for non leader election runnables"}
{"level":"error","ts":"3","msg":"failed to get informer from cache","error":"Timeout: failed waiting for *v1.Pod Informer to sync"}
{"level":"error","ts":"4","msg":"error received after stop sequence was engaged","error":"lost"}
{"level":"info","ts":"5","msg":"Starting EventSource"}
{"level":"error","ts":"6","msg":"failed to get informer from cache","error":"Timeout: failed waiting for *v1.Secret Informer to sync"}
`
	want = []string{"error received after stop sequence was engaged: lost", "failed to get informer from cache: Timeout: failed waiting for *v1.Secret Informer to sync"}
	if got := lastErrors([]byte(stopped), "04-status-a", "04-status-", 3); !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
	if got := lastErrors([]byte("{\"level\":\"info\",\"msg\":\"ERROR rate 0\"}\n\n"), "04-status-a", "04-status-", 3); len(got) > 0 {
		t.Errorf("expected no error, got %q", got)
	}
}

func TestLastWarnings(t *testing.T) {
	event := func(second int64, kind, of, reason, note string) eventsv1.Event {
		return eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(second, 0)},
			Type:       kind, Reason: reason, Note: note, Regarding: corev1.ObjectReference{Kind: of},
		}
	}
	events := []eventsv1.Event{
		event(3, corev1.EventTypeWarning, "ReplicaSet", "FailedCreate", `(combined from similar events): Error creating: pods "cache-b" is forbidden: violates PodSecurity`),
		event(1, corev1.EventTypeWarning, "Pod", "Unhealthy", "the first"),
		event(2, corev1.EventTypeWarning, "ReplicaSet", "FailedCreate", `Error creating: pods "cache-a" is forbidden: violates PodSecurity`),
		event(4, corev1.EventTypeNormal, "Deployment", "ScalingReplicaSet", "Scaled up"),
		event(2, corev1.EventTypeWarning, "Pod", "BackOff", "the second"),
	}
	want := []string{"Pod BackOff: the second", `ReplicaSet FailedCreate: Error creating: pods "…" is forbidden: violates PodSecurity`}
	if got := lastWarnings(events, 2); !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
	if got := lastWarnings(events[3:4], 2); len(got) > 0 {
		t.Errorf("expected no warning, got %q", got)
	}
}
