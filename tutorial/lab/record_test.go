package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
	boardreport "github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

const root = "../.."

// at is when everything in these tests happens.
var at = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

// copyOf makes what the recorder needs of a copy, and gives the machine a state of its own.
func copyOf(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	t.Setenv("TESTBED_STATE", filepath.Join(t.TempDir(), "state"))
	dir = t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func recorderAt(warn *bytes.Buffer) recorder {
	return recorder{root: root, now: func() time.Time { return at }, warn: warn, patience: time.Minute}
}

// Everything that a learner does is recorded in the copy and on the machine, with the names of the hand-out.
func TestRecord(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, map[string]string{".stage": "03-controller\n", ".lab": "no-answer\n", ".class": "class: ops\nstudent: s07\n"})
	var warned, out bytes.Buffer
	r := recorderAt(&warned)
	results := []framework.Result{{Test: "TestA", Outcome: framework.Holds}, {Test: "TestB", Outcome: framework.DoesNotHold, Failed: true}}
	r.checked(dir, "", at.Add(-3*time.Second), results, &exercises.NotYetError{Score: check.ScoreOf(results)})
	g.Expect(r.runHint(dir, 0, 0, &out)).To(Succeed())
	r.record(dir, event.Event{Kind: event.Reset})
	r.checked(dir, "TestA", at, results[:1], nil)
	r.checked(dir, "", at, nil, exercises.ErrNotBuilt)
	r.checked(dir, "", at, nil, errors.New("the cluster does not start"))

	all := event.Event{Schema: event.Schema, Class: "ops", Student: "s07", Stage: "03-controller", Lab: "no-answer", At: at}
	want := make([]event.Event, 5)
	for i := range want {
		want[i] = all
		want[i].Seq, want[i].Hints = i+1, min(i, 1)
	}
	want[0].Kind, want[0].Outcome, want[0].Passed, want[0].Of, want[0].FirstFailed, want[0].TookMS = event.Check, event.Fail, 1, 2, "TestB", 3000
	want[1].Kind = event.Hint
	want[2].Kind = event.Reset
	want[3].Kind, want[3].Outcome, want[3].Only, want[3].Passed, want[3].Of = event.Check, event.Pass, "TestA", 1, 1
	want[4].Kind, want[4].Outcome = event.Check, event.NotBuilt
	g.Expect(event.Read(filepath.Join(dir, event.File))).To(Equal(want))
	machine, err := journal()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(event.Read(machine)).To(Equal(want))
	g.Expect(warned.String()).To(BeEmpty())
}

// Progress survives the copies, and hints about a chapter without a copy are a part of it.
func TestProgressAcrossCopies(t *testing.T) {
	g := NewWithT(t)
	var warned, out bytes.Buffer
	r := recorderAt(&warned)
	dir := copyOf(t, map[string]string{".stage": "03-controller\n"})
	r.checked(dir, "", at, []framework.Result{{Outcome: framework.Holds}}, nil)
	g.Expect(os.RemoveAll(dir)).To(Succeed())
	r.hinted("00-control-loop")
	r.hinted("11-certificates") // which is now 12-certificates
	g.Expect(printProgress(root, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		HavePrefix("  quickstart           -\n  00-control-loop      not checked yet (1 hint)\n  01-custom-resource   -\n"),
		ContainSubstring("\n  03-controller        done\n"), ContainSubstring("\n  12-certificates      not checked yet (1 hint)\n"),
		MatchRegexp(`\n1 of \d+ chapters and 0 of \d+ labs are done\.\n$`)))
	g.Expect(warned.String()).To(BeEmpty())
}

// A check counts for the learner even if it can't be recorded.
func TestRecordNeedsNoRecord(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, map[string]string{".stage": "03-controller\n"})
	occupied := filepath.Join(dir, "occupied")
	g.Expect(os.WriteFile(occupied, nil, 0o600)).To(Succeed())
	t.Setenv("TESTBED_STATE", occupied)
	var warned bytes.Buffer
	recorderAt(&warned).checked(dir, "", at, nil, nil)
	g.Expect(warned.String()).To(And(HavePrefix("this check is not part of make progress: "), ContainSubstring(occupied)))
	g.Expect(event.Read(filepath.Join(dir, event.File))).To(HaveLen(1), "the copy has it")
}

// From a pipe, each line is a key; from a terminal, each character.
func TestReadKeys(t *testing.T) {
	for _, test := range []struct {
		input, want string
		each        bool
	}{{"h\n\nlist\nq", "h\nlq", false}, {"hq\x03", "hq\x03", true}} {
		keys := make(chan rune)
		go readKeys(t.Context(), strings.NewReader(test.input), test.each, keys)
		got := ""
		for key := range keys {
			got += string(key)
		}
		if got != test.want {
			t.Errorf("%q: got %q", test.input, got)
		}
	}
}

func TestScreen(t *testing.T) {
	for raw, want := range map[bool]string{false: "a\nb\n", true: "a\r\nb\r\n"} {
		var out bytes.Buffer
		if n, err := (&screen{out: &out, raw: raw}).Write([]byte("a\nb\n")); n != 4 || err != nil || out.String() != want {
			t.Errorf("raw %t: wrote %d, %v: %q", raw, n, err, out.String())
		}
	}
}

// What a copy of a class records is reported to its board; what a lost network has kept back comes with the next report. A learner
// is not kept from anything, and sees why.
func TestReportToTheBoard(t *testing.T) {
	g := NewWithT(t)
	var lost bool
	var got []event.Event
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var sent boardreport.Report
		if lost || request.Header.Get("Authorization") != "Bearer its-token" || json.NewDecoder(request.Body).Decode(&sent) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got = append(got, sent.Events...)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	dir := copyOf(t, map[string]string{".stage": "03-controller\n", ".class": "class: ops\nstudent: s07\nboard: " + server.URL + "\ntoken: its-token\n"})
	var warned bytes.Buffer
	r := recorderAt(&warned)
	r.record(dir, event.Event{Kind: event.Hint})
	lost = true
	r.record(dir, event.Event{Kind: event.Hint})
	g.Expect(warned.String()).To(HavePrefix("report to the board at " + server.URL + ": it answers 503 Service Unavailable"))
	lost = false
	r.checked(dir, "", at, nil, exercises.ErrNotBuilt)

	recorded, err := event.Read(filepath.Join(dir, event.File))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(recorded).To(HaveLen(3))
	g.Expect(got).To(Equal(recorded))
}

// A board that does not answer costs a learner a second, as main says, and nothing else.
func TestReportIsBounded(t *testing.T) {
	g := NewWithT(t)
	stop := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer silent.Close()
	defer close(stop)
	dir := copyOf(t, map[string]string{".stage": "03-controller\n", ".class": "class: ops\nstudent: s07\nboard: " + silent.URL + "\ntoken: its-token\n"})
	var warned bytes.Buffer
	r := recorderAt(&warned)
	r.patience = 10 * time.Millisecond
	r.record(dir, event.Event{Kind: event.Hint})
	g.Expect(warned.String()).To(And(HavePrefix("report to the board at "+silent.URL), ContainSubstring("deadline exceeded")))
	g.Expect(event.Read(filepath.Join(dir, event.File))).To(HaveLen(1))
}
