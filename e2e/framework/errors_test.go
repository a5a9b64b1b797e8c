package framework

import (
	"slices"
	"testing"
)

func TestLastErrors(t *testing.T) {
	const log = `{"level":"info","ts":"t","msg":"Starting EventSource"}
{"level":"error","ts":"1","msg":"Reconciler error","namespace":"05-status-a","reconcileID":"1","error":"the first"}
{"level":"error","ts":"2","msg":"Reconciler error","namespace":"05-status-a","reconcileID":"2","error":"exceeded quota"}
{"level":"error","ts":"3","msg":"Failed to watch","type":"*v1.Pod","error":"pods is forbidden","stacktrace":"a\n\tb"}
{"level":"error","ts":"4","msg":"Reconciler error","namespace":"05-status-a","reconcileID":"3","error":"exceeded quota"}
{"level":"error","ts":"5","msg":"Reconciler error","namespace":"05-status-b","reconcileID":"4","error":"of another feature"}
2026/11/22 04:51:48 ERROR Again later ticket=05-status-a/ticket error="EOF"
2026/11/22 04:51:48 INFO Booked ticket=05-status-a/ticket
`
	want := []string{"Failed to watch: pods is forbidden", "Reconciler error: exceeded quota", `Again later ticket=05-status-a/ticket error="EOF"`}
	if got := lastErrors([]byte(log), "05-status-a", "05-status-", 3); !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
	if got := lastErrors([]byte("{\"level\":\"info\",\"msg\":\"ERROR rate 0\"}\n\n"), "05-status-a", "05-status-", 3); len(got) > 0 {
		t.Errorf("expected no error, got %q", got)
	}
}
