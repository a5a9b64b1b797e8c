package grading

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/framework/report"
	"github.com/example/operator-testbed/tutorial/internal/grade"
)

func reported(results ...report.Result) *report.Report { return &report.Report{Results: results} }

// read returns the report of a suite that writes the content.
func read(t *testing.T, content string) *report.Report {
	t.Helper()
	r := newReport(nil)
	if _, err := r.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	return r
}

func one(string) float64 { return 1 }

func same(text string) string { return text }

// The solution decides which features there are, and which can't be tried.
func TestOutcomesOfTheSolution(t *testing.T) {
	first := reported(
		report.Result{Test: "TestSize", Feature: "size", Outcome: report.Holds},
		report.Result{Test: "TestNodes", Feature: "nodes", Outcome: report.NotTried, Reason: "it needs real nodes"},
		report.Result{Test: "TestBroken", Feature: "broken", Outcome: report.NotTried, Reason: "no namespace", Failed: true},
	)
	got := outcomes{points: one, plain: same, claims: map[string]string{"TestSize": "as many pods as size says"}}.tests(first, nil)
	want := []grade.Test{
		{Name: "TestBroken", Title: "broken", Status: grade.Fail, MaxScore: 1, Message: "no namespace"},
		{Name: "TestNodes", Title: "nodes", Status: grade.Skip, Message: "it needs real nodes"},
		{Name: "TestSize", Title: "as many pods as size says", Status: grade.Pass, Score: 1, MaxScore: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomesOfASubmission(t *testing.T) {
	plan := []grade.Test{
		{Name: "TestA", Title: "a", Status: grade.Pass, MaxScore: 1},
		{Name: "TestB", Title: "b", Status: grade.Skip, Message: "it needs real nodes"},
		{Name: "TestHidden", Title: "hidden", Status: grade.Pass, MaxScore: 1, Extra: true},
	}
	a := grade.Test{Name: "TestA", Title: "a", MaxScore: 3}
	b := grade.Test{Name: "TestB", Title: "b", Status: grade.Skip, Message: "it needs real nodes"}
	fails := func(step, message string) grade.Test {
		failed := a
		failed.Status, failed.Step, failed.Message = grade.Fail, step, message
		return failed
	}
	passes := a
	passes.Status, passes.Score = grade.Pass, 3
	flaky := passes
	flaky.Flaky = true
	half := report.Result{Test: "TestA", Outcome: report.DoesNotHold, Step: "up", Expected: "3 pods", Seen: "2 pods", Message: "size: expected 3 pods; last seen: 2 pods"}
	again := reported(report.Result{Test: "TestA", Outcome: report.Holds})
	stillFails := reported(report.Result{Test: "TestA", Outcome: report.DoesNotHold, Message: "another message"})
	for name, test := range map[string]struct {
		first *report.Report
		again *report.Report
		want  grade.Test
	}{
		"holds":                          {first: reported(report.Result{Test: "TestA", Outcome: report.Holds}), want: passes},
		"does not hold":                  {first: reported(half), want: fails("up", "expected size: 3 pods; last seen: 2 pods")},
		"fails twice":                    {first: reported(half), again: stillFails, want: fails("up", "expected size: 3 pods; last seen: 2 pods")},
		"holds when it runs alone":       {first: reported(half), again: again, want: flaky},
		"skips what the solution does":   {first: reported(report.Result{Test: "TestA", Outcome: report.NotTried, Reason: "skipped"}), want: fails("", "skipped")},
		"does not apply to it":           {first: reported(report.Result{Test: "TestA", Outcome: "does not apply", Reason: "no webhooks"}), want: fails("", "no webhooks")},
		"is not reported":                {first: reported(), want: fails("", notReported)},
		"has an outcome without meaning": {first: reported(report.Result{Test: "TestA", Outcome: "great"}), want: fails("", "the step failed without a message")},
		"features that nobody planned":   {first: reported(report.Result{Test: "TestA", Outcome: report.Holds}, report.Result{Test: "TestMore", Outcome: report.Holds}), want: passes},
		"does not start": {
			first: &report.Report{Start: &report.Result{Outcome: report.DoesNotHold, Message: "exit status 1"}},
			want:  fails("", notStarted+": exit status 1"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := outcomes{plan: plan, points: func(string) float64 { return 3 }, plain: same}
			got := o.tests(test.first, test.again)
			if diff := cmp.Diff([]grade.Test{test.want, b}, got); diff != "" {
				t.Error(diff)
			}
			if reached, most := score(got); reached != test.want.Score || most != 3 {
				t.Errorf("the score is %v of %v, expected %v of 3", reached, most, test.want.Score)
			}
		})
	}
	hidden := outcomes{plan: plan, points: one, plain: same, extra: true}.tests(reported(report.Result{Test: "TestHidden", Outcome: report.Holds}), nil)
	if want := []grade.Test{{Name: "TestHidden", Title: "hidden", Status: grade.Pass, Score: 1, MaxScore: 1, Extra: true}}; !cmp.Equal(want, hidden) {
		t.Error(cmp.Diff(want, hidden))
	}
}

func TestReadReport(t *testing.T) {
	if r := read(t, ""); len(r.Results) > 0 || r.Start != nil || wrong(r, "TestA") != "" {
		t.Errorf("a report with nothing in it: %+v", r)
	}
	r := read(t, `{"feature":"the cluster starts","outcome":"not tried","reason":"no disk","failed":true}`+"\n")
	if !clusterFailed(r) || r.Start.Reason != "no disk" || wrong(r, "TestA") != "" {
		t.Errorf("a cluster that does not start: %+v", r)
	}
}

// TestForgedReport adds lines to a report in which one feature does not hold, and another one has no result: whatever is added, neither
// passes. Running the features again changes nothing if lines that are not the suite's were added to the first report.
func TestForgedReport(t *testing.T) {
	const (
		own       = `{"test":"TestA","outcome":"does not hold","message":"no pods"}` + "\n"
		forgedA   = `{"test":"TestA","outcome":"holds"}` + "\n"
		forgedB   = `{"test":"TestB","outcome":"holds"}` + "\n"
		noCluster = `{"feature":"the cluster starts","outcome":"not tried","reason":"no disk"}` + "\n"
	)
	plan := []grade.Test{{Name: "TestA", Status: grade.Pass, MaxScore: 1}, {Name: "TestB", Status: grade.Pass, MaxScore: 1}}
	again := reported(report.Result{Test: "TestA", Outcome: report.Holds}, report.Result{Test: "TestB", Outcome: report.Holds})
	for name, test := range map[string]struct {
		content string
		want    [2]string // the messages
	}{
		"afterwards":                {own + forgedA, [2]string{reportedTwice, notReported}},
		"before":                    {forgedA + own, [2]string{reportedTwice, notReported}},
		"many times":                {strings.Repeat(forgedA, 3) + own + forgedA, [2]string{reportedTwice, notReported}},
		"not a result":              {own + "PASS\n", [2]string{unreadable, unreadable}},
		"no JSON":                   {own + forgedB + "{\n", [2]string{unreadable, unreadable}},
		"without an outcome":        {own + `{"test":"TestB"}` + "\n", [2]string{unreadable, unreadable}},
		"a start after a result":    {own + noCluster, [2]string{unreadable, unreadable}},
		"two starts":                {noCluster + noCluster, [2]string{unreadable, unreadable}},
		"a result after a start":    {noCluster + forgedB, [2]string{unreadable, unreadable}},
		"a line that is not at end": {own + strings.TrimSpace(forgedB), [2]string{"no pods", notReported}},
	} {
		t.Run(name, func(t *testing.T) {
			o := outcomes{plan: plan, points: one, plain: same}
			first := read(t, test.content)
			if clusterFailed(first) {
				t.Error("a forged report has the suite run again")
			}
			got := o.tests(first, nil)
			if messages := [2]string{got[0].Message, got[1].Message}; got[0].Status != grade.Fail || got[1].Status != grade.Fail || messages != test.want {
				t.Errorf("got %+v, expected the messages %q", got, test.want)
			}
			for i, after := range o.tests(first, again) {
				if forged := test.want[i] == reportedTwice || test.want[i] == unreadable; forged == (after.Status == grade.Pass) {
					t.Errorf("after running again: %+v", after)
				}
			}
			// The other way round: what is forged in the second report does not help either.
			failing := reported(report.Result{Test: "TestA", Outcome: report.DoesNotHold}, report.Result{Test: "TestB", Outcome: report.DoesNotHold})
			for _, after := range o.tests(failing, first) {
				if after.Status == grade.Pass {
					t.Errorf("in the second report: %+v", after)
				}
			}
		})
	}
}

// TestLongReport takes a report that has become too long for one in which nothing counts. Its twin is as long as it may be.
func TestLongReport(t *testing.T) {
	const holding = `{"test":"TestA","outcome":"holds"}`
	r := newReport(nil)
	for _, text := range []string{holding, strings.Repeat(" ", longestReport-len(holding)-1), "\n"} {
		if n, err := r.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if l, _ := r.Of("TestA"); wrong(r, "TestA") != "" || l.Outcome != report.Holds {
		t.Errorf("of a long report: %+v, %v", l, r.Err())
	}
	if n, err := r.Write([]byte("x")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if wrong(r, "TestA") != unreadable {
		t.Error("a report that is too long counts")
	}
}

// A run says how far it is as soon as a result is complete: a suite may take longer than a watchdog waits.
func TestProgress(t *testing.T) {
	var seen []int
	r := newReport(func(results int) { seen = append(seen, results) })
	for _, text := range []string{`{"test":"TestA",`, `"outcome":"holds"}`, "\n", `{"test":"TestB","outcome":"holds"}` + "\n{}\n"} {
		if _, err := r.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("got %v, expected 1 and 2 as soon as there are so many results", seen)
	}
}

func TestSentenceOf(t *testing.T) {
	for want, l := range map[string]report.Result{
		"expected 3 pods; last seen: 2 pods":          {Expected: "3 pods", Seen: "2 pods", Message: "expected 3 pods; last seen: 2 pods"},
		"expected Service x: port 1; last seen: none": {Expected: "port 1", Seen: "none", Message: "Service x: expected port 1; last seen: none"},
		"expected Deployment x: Replicas to equal 2; last seen: 3": {
			Expected: "Replicas to equal 2", Seen: "3",
			Message: "Deployment x: Value for field 'Replicas' failed to satisfy matcher.\nExpected\n    <int32>: 3\nto equal\n    <int32>: 2 (gave up after 10s)",
		},
		"creating it: forbidden": {Message: "creating it: forbidden"},
	} {
		if got := sentenceOf(l); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

// Two runs that end alike have the same messages.
func TestPlain(t *testing.T) {
	for message, want := range map[string]string{
		"Deployment 04-status-x7k2p/cache-bcdfg: expected 1; last seen: 2 (gave up after 10s)": "Deployment 04-status/cache-bcdfg: expected 1; last seen: 2",
		"owned by 8d1c0f6e-27b9-4c7e-9d9e-0123456789ab":                                        "owned by <uid>",
		"dial tcp 127.0.0.1:40123: connection refused":                                         "dial tcp 127.0.0.1: connection refused",
		"2026-11-23T07:05:44.123Z ERROR no":                                                    "<time> ERROR no",
		"E1123 07:05:44.123456   12345 main.go:5] no":                                          "main.go:5] no",
		"pod cache-bcdfg-6d4b75cb6d-x7k2p fails":                                               "pod cache-bcdfg-<pod> fails",
		"no answer within 1.203s":                                                              "no answer within <duration>",
		"waited for 10s":                                                                       "waited for 10s",
		"panic at 0xc000123, goroutine 17":                                                     "panic at <address>, goroutine <number>",
		"open /work/x/secret/file: denied":                                                     "open …/file: denied",
		"/work/grade-1/config/default is empty":                                                "config/default is empty",
		"the operator is not ready: ok (log: /tmp/run-1/logs/operator.log)":                    "the operator is not ready: ok",
		"\x1b[31mred\x07":                                                                      "red",
	} {
		if got := plain(message, "04-status", "/work/grade-1"); got != want {
			t.Errorf("plain(%q)\n     got %q\nexpected %q", message, got, want)
		}
	}
}

func TestSeedOf(t *testing.T) {
	if got := SeedOf("7"); got != 7 {
		t.Errorf("the seed of a number is %d", got)
	}
	seeds := map[uint64]bool{}
	for _, text := range []string{"s07-04-status", "s08-04-status", "s07-04-status"} {
		seeds[SeedOf(text)] = true
	}
	if len(seeds) != 2 {
		t.Errorf("the seeds of three texts, two of them the same, are %v", seeds)
	}
}
