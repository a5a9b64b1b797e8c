package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

const (
	received  = `{"kind":"Event","stage":"RequestReceived","verb":"create","user":{"username":"op"}}` + "\n"
	created   = `{"kind":"Event","stage":"ResponseComplete","verb":"create","user":{"username":"op"},"objectRef":{"resource":"deployments","namespace":"a","name":"x"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z"}` + "\n"
	applied   = `{"kind":"Event","stage":"ResponseComplete","verb":"patch","user":{"username":"op"},"objectRef":{"resource":"memcacheds","subresource":"status","namespace":"b","name":"y"},"responseStatus":{"code":200},"requestObject":{"status":{}},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z"}` + "\n"
	listed    = `{"kind":"Event","stage":"ResponseComplete","verb":"list","user":{"username":"kubelet"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z"}` + "\n"
	forbidden = `{"kind":"Event","stage":"ResponseComplete","verb":"get","user":{"username":"op"},"objectRef":{"resource":"secrets","namespace":"c","name":"z"},"responseStatus":{"status":"Failure","reason":"Forbidden","code":403},"requestReceivedTimestamp":"2026-01-01T00:00:02.500000Z"}` + "\n"
	tooLate   = `{"kind":"Event","stage":"ResponseComplete","verb":"create","user":{"username":"op"},"objectRef":{"resource":"deployments","namespace":"d","name":"x"},"responseStatus":{"status":"Failure","reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating","message":"namespace d is being terminated","field":"metadata.namespace"}]},"code":403},"requestReceivedTimestamp":"2026-01-01T00:00:02.600000Z"}` + "\n"
)

func writeLog(t *testing.T, content string) (*audit.Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return audit.Open(path), path
}

func TestSinceCountsCompletedRequestsOnce(t *testing.T) {
	g := NewWithT(t)
	log, _ := writeLog(t, received+created+applied+listed)

	all, err := log.Since(audit.Mark{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveLen(3), "expected the RequestReceived stage not to count as a request")
}

// The API server may be in the middle of a line when a test asks for a Mark, and when it reads.
func TestSinceReadsNoHalfWrittenLine(t *testing.T) {
	later := strings.ReplaceAll(applied, "2026", "2999")
	long := strings.Replace(created, `"op"`, `"`+strings.Repeat("x", 100_000)+`"`, 1)
	for _, content := range []struct{ before, rest string }{
		{"", created}, {created, ""}, {created + created[:40], created[40:]}, {long[:50_000], long[50_000:]}, {long + created, applied},
	} {
		g := NewWithT(t)
		log, path := writeLog(t, content.before)
		mark, err := log.Now()
		g.Expect(err).NotTo(HaveOccurred())
		whole := content.before + content.rest
		g.Expect(os.WriteFile(path, []byte(whole), 0o600)).To(Succeed())
		g.Expect(log.Since(mark)).To(BeEmpty(), "after %.60q", content.before)
		g.Expect(os.WriteFile(path, []byte(whole+later+later[:40]), 0o600)).To(Succeed())
		g.Expect(log.Since(mark)).To(HaveExactElements(HaveField("Verb", "patch")), "after %.60q", content.before)
	}
}

// A watch shows what a request has written before the request is logged: what led to a Mark does not count after it.
func TestSinceLeavesOutWhatWasReceivedBefore(t *testing.T) {
	g := NewWithT(t)
	log, path := writeLog(t, created)
	mark, err := log.Now()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(path, []byte(created+applied), 0o600)).To(Succeed())
	g.Expect(log.Since(mark)).To(BeEmpty())
}

func TestNowWithoutAFile(t *testing.T) {
	if mark, err := audit.Open(filepath.Join(t.TempDir(), "none.log")).Now(); err != nil || mark == (audit.Mark{}) {
		t.Errorf("got %v, %v, expected a mark for now", mark, err)
	}
	log, path := writeLog(t, created)
	if _, err := audit.Open(filepath.Join(path, "beneath")).Now(); err == nil {
		t.Error("expected an error for a path that can't be read")
	}
	if _, err := log.Now(); err != nil {
		t.Error(err)
	}
}

func TestSinceOfAMissingLogIsEmpty(t *testing.T) {
	g := NewWithT(t)
	events, err := audit.Open(filepath.Join(t.TempDir(), "none.log")).Since(audit.Mark{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(events).To(BeEmpty())
}

func TestSinceNamesTheLineItCannotRead(t *testing.T) {
	g := NewWithT(t)
	log, _ := writeLog(t, "no json\n")
	_, err := log.Since(audit.Mark{})
	g.Expect(err).To(MatchError(ContainSubstring(`"no json\n" is no audit event`)))
}

func TestFilters(t *testing.T) {
	log, _ := writeLog(t, created+applied+listed+forbidden+tooLate)
	for name, tc := range map[string]struct {
		filters []audit.Filter
		want    []string // verbs
	}{
		"writes":           {[]audit.Filter{audit.Writes}, []string{"create", "patch", "create"}},
		"by user":          {[]audit.Filter{audit.ByUser("kubelet")}, []string{"list"}},
		"not by user":      {[]audit.Filter{audit.Not(audit.ByUser("op"))}, []string{"list"}},
		"in a namespace":   {[]audit.Filter{audit.InNamespace("b")}, []string{"patch"}},
		"of a resource":    {[]audit.Filter{audit.Resource("deployments", "")}, []string{"create", "create"}},
		"of a subresource": {[]audit.Filter{audit.Resource("memcacheds", "status")}, []string{"patch"}},
		"no subresource":   {[]audit.Filter{audit.Resource("memcacheds", "")}, nil},
		"by code":          {[]audit.Filter{audit.Code(201)}, []string{"create"}},
		"forbidden":        {[]audit.Filter{audit.Forbidden}, []string{"get"}},
		"by time":          {[]audit.Filter{audit.ReceivedAfter(time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC))}, []string{"list", "get", "create"}},
		"several at once":  {[]audit.Filter{audit.Writes, audit.InNamespace("a")}, []string{"create"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			events, err := log.Since(audit.Mark{}, tc.filters...)
			g.Expect(err).NotTo(HaveOccurred())
			var verbs []string
			for _, e := range events {
				verbs = append(verbs, e.Verb)
			}
			g.Expect(verbs).To(Equal(tc.want))
		})
	}
}

func TestDescribeNamesVerbObjectCodeAndBody(t *testing.T) {
	g := NewWithT(t)
	log, _ := writeLog(t, applied)
	events, err := log.Since(audit.Mark{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(audit.Describe(events)).To(HaveSuffix(`patch memcacheds/status b/y: 200 {"status":{}}`))
	g.Expect(audit.Describe(nil)).To(Equal("  (none)"))
}
