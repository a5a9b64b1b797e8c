package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

func logOf(t *testing.T, lines ...string) Writes {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	var content string
	for _, line := range lines {
		content += line + "\n"
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return Writes{Log: audit.Open(path), User: "op"}
}

func line(verb, user, body string) string {
	return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"user":{"username":%q},`+
		`"objectRef":{"resource":"memcacheds","subresource":"status","namespace":"demo","name":"cache"},`+
		`"responseStatus":{"code":200},"requestObject":%s}`, verb, user, body)
}

func TestVerifyWritesCountsTheOperatorsWrites(t *testing.T) {
	g := NewWithT(t)
	writes := logOf(t, line("patch", "op", `{}`), line("patch", "op", `{}`), line("get", "op", `{}`), line("patch", "other", `{}`))
	c := newClient(interceptor.Funcs{})
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) { VerifyWrites(ctx, s, 2, writes) })).To(BeEmpty())
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) { VerifyWrites(ctx, s, 1, writes) })
	g.Expect(got).To(HavePrefix("op: expected at most 1 writes; last seen: 2:\n"))
	g.Expect(got).To(ContainSubstring("patch memcacheds/status demo/cache: 200 {}"))
}

func TestWaitForRequestWaitsForTheEntry(t *testing.T) {
	g := NewWithT(t)
	writes := logOf(t, line("patch", "op", `{}`))
	c := newClient(interceptor.Funcs{})
	every := func(*auditv1.Event) bool { return true }
	none := func(*auditv1.Event) bool { return false }
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForRequest(ctx, s, RequestInput{What: "a write", Writes: writes, Match: every})
	})).To(BeEmpty())
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForRequest(ctx, s, RequestInput{What: "a write", Writes: writes, Match: none})
	})).
		To(HavePrefix("op: expected a write in the audit log; last seen:\n"))
}

// The audit log has no bodies of Secrets. One change can't repeat another one, so only several are unknown.
func TestVerifyDistinctWritesWithoutBodies(t *testing.T) {
	without := func(verb, name string) string {
		return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"user":{"username":"op"},"responseStatus":{"code":200},`+
			`"objectRef":{"resource":"secrets","namespace":"demo","name":%q}}`, verb, name)
	}
	g, c := NewWithT(t), newClient(interceptor.Funcs{})
	log := logOf(t, without("create", "a"), without("update", "a"), without("update", "b"), without("patch", "b"), without("delete", "a"))
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		g.Expect(VerifyDistinctWrites(ctx, s, log)).To(Equal([]string{"secrets demo/b"}))
	})).To(BeEmpty())
}

func TestVerifyDistinctWritesIgnoresTimesAndVersions(t *testing.T) {
	g := NewWithT(t)
	versions := 0
	at := func(time, reason string) string {
		versions++
		return line("update", "op", fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"status":{"conditions":[{"lastTransitionTime":%q,"reason":%q}]}}`, versions, time, reason))
	}
	c := newClient(interceptor.Funcs{})
	different := logOf(t, at("10:00", "A"), at("10:00", "B"), at("10:00", "A"))
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) { VerifyDistinctWrites(ctx, s, different) })).To(BeEmpty())

	same := logOf(t, at("10:00", "A"), at("10:01", "A"))
	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) { VerifyDistinctWrites(ctx, s, same) })).
		To(ContainSubstring("expected each write to memcacheds/status demo/cache to differ from the one before"))
}
