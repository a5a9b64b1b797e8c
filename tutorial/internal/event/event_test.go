package event_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/event"
)

// at is when the events of these tests happen.
var at = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

func TestAppend(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "state", "events")
	check := event.Event{
		Class: "ops", Student: "s07", Stage: "04-status", At: at, Kind: event.Check,
		Outcome: event.Fail, Passed: 3, Of: 5, FirstFailed: "TestAvailable", Hints: 2, TookMS: 41200,
	}
	for _, e := range []event.Event{check, {Stage: "03-controller", Lab: "no-answer", At: at, Kind: event.Hint, Hints: 1}} {
		_, err := event.Append(path, e)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(os.ReadFile(path)).To(BeEquivalentTo(
		`{"schema":"lab-event/v1","class":"ops","student":"s07","stage":"04-status","seq":1,"at":"2026-11-23T09:30:00Z","kind":"check",` +
			`"outcome":"fail","passed":3,"of":5,"first_failed":"TestAvailable","hints":2,"took_ms":41200}` + "\n" +
			`{"schema":"lab-event/v1","stage":"03-controller","lab":"no-answer","seq":2,"at":"2026-11-23T09:30:00Z","kind":"hint",` +
			`"passed":0,"of":0,"hints":1,"took_ms":0}` + "\n"))

	events, err := event.Read(path)
	g.Expect(err).NotTo(HaveOccurred())
	check.Schema, check.Seq = event.Schema, 1
	g.Expect(events).To(HaveLen(2))
	g.Expect(events[0]).To(Equal(check))
	g.Expect(event.Hints(events)).To(Equal(1))

	// The number that a copy's file has given stays in the machine's.
	copied, err := event.Append(path, event.Event{Stage: "04-status", Kind: event.Reset, Seq: 9})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(copied.Seq).To(Equal(9))
}

// Two checks that finish at once get different numbers.
func TestAppendAtOnce(t *testing.T) {
	g := NewWithT(t)
	const many = 300
	path := filepath.Join(t.TempDir(), "events")
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if _, err := event.Append(path, event.Event{Stage: "04-status", Kind: event.Check}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	events, err := event.Read(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(events).To(HaveLen(many))
	for i, e := range events {
		g.Expect(e.Seq).To(Equal(i + 1))
	}
}

// A line that a full disk has cut off costs that line and no other.
func TestReadLeavesOutWhatIsBroken(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "events")
	g.Expect(event.Read(path)).To(BeEmpty())
	g.Expect(os.WriteFile(path, []byte(`{"schema":"other/v1"}`+"\n"+`{"schema":"lab-ev`), 0o600)).To(Succeed())
	appended, err := event.Append(path, event.Event{Stage: "04-status", Kind: event.Hint})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(appended.Seq).To(Equal(3))
	events, err := event.Read(path)
	g.Expect(events).To(Equal([]event.Event{appended}))
	g.Expect(err).To(MatchError(And(
		ContainSubstring(fmt.Sprintf("line 1 of %s is not an event: its schema is %q", path, "other/v1")), ContainSubstring("line 2 of "))))
}

func TestDone(t *testing.T) {
	g := NewWithT(t)
	done := event.Event{Kind: event.Check, Outcome: event.Pass}
	g.Expect(done.Done()).To(BeTrue())
	for _, other := range []event.Event{
		{Kind: event.Check, Outcome: event.Pass, Only: "TestSize"},
		{Kind: event.Check, Outcome: event.Fail},
		{Kind: event.Hint},
	} {
		g.Expect(other.Done()).To(BeFalse(), fmt.Sprint(other))
	}
}

func TestReadClass(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(event.ReadClass(dir)).To(BeZero())
	path := filepath.Join(dir, event.ClassFile)
	g.Expect(os.WriteFile(path, []byte("class: ops\nstudent: s07\naddress: http://10.0.0.1:8080\n"), 0o600)).To(Succeed())
	g.Expect(event.ReadClass(dir)).To(Equal(event.Class{Class: "ops", Student: "s07"}))
	g.Expect(os.WriteFile(path, []byte("- ops\n"), 0o600)).To(Succeed())
	_, err := event.ReadClass(dir)
	g.Expect(err).To(MatchError(HavePrefix("read " + path)))
}
