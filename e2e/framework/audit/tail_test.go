package audit_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// A Tail begins with the first whole line near the end, and reads each line once, when it is complete.
func TestTail(t *testing.T) {
	g := NewWithT(t)
	log, path := writeLog(t, created+applied+listed[:50])
	grow := func(text string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = file.WriteString(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(file.Close()).To(Succeed())
	}
	verbs := func(tail *audit.Tail, filters ...audit.Filter) []string {
		t.Helper()
		events, err := tail.Next(filters...)
		g.Expect(err).NotTo(HaveOccurred())
		found := []string{}
		for _, e := range events {
			found = append(found, e.Verb)
		}
		return found
	}
	short := log.Tail(10)
	g.Expect(verbs(short)).To(BeEmpty())
	all, near, exact := log.Tail(1<<20), log.Tail(int64(len(applied)+50)-1), log.Tail(int64(len(applied)+50))
	g.Expect(verbs(all)).To(Equal([]string{"create", "patch"}))
	g.Expect(verbs(near)).To(BeEmpty(), "half of a line is not an event")
	g.Expect(verbs(exact)).To(Equal([]string{"patch"}))
	grow(listed[50:] + forbidden)
	g.Expect(verbs(all)).To(Equal([]string{"list", "get"}))
	g.Expect(verbs(near)).To(Equal([]string{"list", "get"}))
	g.Expect(verbs(short)).To(BeEmpty(), "the last line is longer than the end that it reads")
	grow(received + created + listed)
	g.Expect(verbs(all, audit.Writes)).To(Equal([]string{"create"}))
	g.Expect(verbs(all)).To(BeEmpty())
	grow("nonsense\n")
	_, err := all.Next()
	g.Expect(err).To(MatchError(ContainSubstring("is no audit event")))

	none := audit.Open(path + ".none").Tail(10)
	g.Expect(verbs(none)).To(BeEmpty())
}
