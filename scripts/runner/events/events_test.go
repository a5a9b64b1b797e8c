package events_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/example/operator-testbed/scripts/runner/events"
)

const module = "example.com/m"

// feed gives events to Tests, and returns what is shown. Each line is "ACTION PACKAGE TEST ELAPSED OUTPUT", with "-" for what it has not.
func feed(t *testing.T, tests *events.Tests, lines ...string) string {
	t.Helper()
	shown := ""
	for _, line := range lines {
		fields := strings.SplitN(line, " ", 5)
		e := events.Event{Action: fields[0]}
		for i, to := range []*string{nil, &e.Package, &e.Test} {
			if i > 0 && i < len(fields) && fields[i] != "-" {
				*to = fields[i]
			}
		}
		if len(fields) > 3 && fields[3] != "-" {
			if _, err := fmt.Sscan(fields[3], &e.Elapsed); err != nil {
				t.Fatal(err)
			}
		}
		if len(fields) > 4 {
			e.Output = fields[4] + "\n"
		}
		if e.Package != "" && e.Action != "build-output" {
			e.Package = module + "/" + e.Package
		}
		shown += tests.Add(e)
	}
	return shown
}

func TestParse(t *testing.T) {
	e, is := events.Parse(`{"Time":"2026-11-26T08:00:00Z","Action":"pass","Package":"a","Test":"TestA","Elapsed":1.5}` + "\n")
	if !is || e.Action != "pass" || e.Package != "a" || e.Test != "TestA" || e.Elapsed != 1.5 {
		t.Errorf("%+v, %v", e, is)
	}
	for _, line := range []string{"", "ok", "{", "{}", `{"kind":"List"}`, "{ echo; }\n"} {
		if e, is := events.Parse(line); is {
			t.Errorf("%q is taken for the event %+v", line, e)
		}
	}
}

// TestNow says what is going on, from the events so far.
func TestNow(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{nil, "compiling; 0 packages done"},
		{[]string{"start a"}, "a; 0 packages done"},
		{[]string{"start a", "run a TestOne"}, "a TestOne; 0 packages done"},
		{[]string{"start a", "run a TestOne", "run a TestOne/step"}, "a TestOne; 0 packages done"},
		{[]string{"start a", "run a TestOne", "pause a TestOne"}, "a; 0 packages done"},
		{[]string{"start a", "run a TestOne", "pause a TestOne", "run a TestTwo"}, "a TestTwo; 0 packages done"},
		{[]string{"start a", "run a TestOne", "pause a TestOne", "run a TestTwo", "pass a TestTwo 1", "cont a TestOne"}, "a TestOne; 0 packages done"},
		{[]string{"start a", "run a TestOne", "start b"}, "a TestOne; 0 packages done"},
		{[]string{"start a", "start b"}, "b; 0 packages done"},
		{[]string{"start a", "run a TestOne", "fail a TestOne 1", "fail a"}, "compiling; 1 package done"},
	} {
		tests := events.New(module)
		feed(t, tests, test.lines...)
		if got := tests.Now(); got != test.want {
			t.Errorf("after %q: got %q, expected %q", test.lines, got, test.want)
		}
	}
}

// TestAdd shows packages as they end, and what failing tests have printed, with the output of their steps.
func TestAdd(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"passes": {
			[]string{
				"start a", "run a TestOne", "output a TestOne - === RUN   TestOne", "output a TestOne - a_test.go:7: hello",
				"output a TestOne - --- PASS: TestOne (0.00s)", "pass a TestOne 0", "output a - - PASS", "output a - - ok  \texample.com/m/a\t1.234s", "pass a - 1.234",
			},
			"ok    a (1.23s)\n",
		},
		"cached": {
			[]string{"start a", "run a TestOne", "pass a TestOne 0", "output a - - ok  \texample.com/m/a\t(cached)", "pass a - 0"},
			"ok    a (cached)\n",
		},
		"no tests": {
			[]string{"start a", "output a - - ?   \texample.com/m/a\t[no test files]", "skip a - 0", "start b", "output b - - testing: warning: no tests to run", "pass b - 0"},
			"",
		},
		"fails in a step": {
			[]string{
				"start a", "run a TestOne", "output a TestOne - === RUN   TestOne", "run a TestOne/step", "output a TestOne/step - === RUN   TestOne/step",
				"output a TestOne/step -     a_test.go:7: expected 1, got 2", "output a TestOne/step -     --- FAIL: TestOne/step (1.00s)", "fail a TestOne/step 1",
				"output a TestOne - --- FAIL: TestOne (1.00s)", "fail a TestOne 1", "output a - - FAIL", "fail a - 1.5",
			},
			"=== FAIL: a TestOne (1s)\n    a_test.go:7: expected 1, got 2\n    --- FAIL: TestOne/step (1.00s)\n--- FAIL: TestOne (1.00s)\nFAIL  a (1.5s)\n",
		},
		"does not compile, with nothing known of it": {
			[]string{"build-output - - - of another build", "start a", "output a - - FAIL\texample.com/m/a [build failed]", "fail a - 0"},
			"FAIL  a (0s)\n",
		},
		"ends in the middle": {
			[]string{"start a", "run a TestOne", "output a TestOne - panic: oh no", "output a - - exit status 2", "output a - - FAIL\texample.com/m/a\t1s", "fail a - 1"},
			"=== FAIL: a TestOne (0s)\npanic: oh no\nFAIL  a (1s)\n",
		},
		"fails outside of tests": {
			[]string{"start a", "run a TestOne", "pass a TestOne 0", "output a - - no cluster", "output a - - FAIL", "fail a - 1"},
			"FAIL  a (1s)\nno cluster\n",
		},
	} {
		if got := feed(t, events.New(module), test.lines...); got != test.want {
			t.Errorf("%s: got\n%s\nexpected\n%s", name, got, test.want)
		}
	}
}

// What a compiler prints belongs to the package that it was asked for.
func TestBuildFails(t *testing.T) {
	tests, shown := events.New(module), ""
	for _, line := range []string{
		`{"ImportPath":"example.com/m/a [example.com/m/a.test]","Action":"build-output","Output":"# example.com/m/a\na.go:1: undefined: x\n"}`,
		`{"ImportPath":"example.com/m/a [example.com/m/a.test]","Action":"build-fail"}`,
		`{"Action":"start","Package":"example.com/m/a"}`,
		`{"Action":"output","Package":"example.com/m/a","Output":"FAIL\texample.com/m/a [build failed]\n"}`,
		`{"Action":"fail","Package":"example.com/m/a","Elapsed":0,"FailedBuild":"example.com/m/a [example.com/m/a.test]"}`,
	} {
		e, is := events.Parse(line)
		if !is {
			t.Fatalf("%s is not an event", line)
		}
		shown += tests.Add(e)
	}
	if want := "FAIL  a (0s)\n# example.com/m/a\na.go:1: undefined: x\n"; shown != want {
		t.Errorf("got\n%s\nexpected\n%s", shown, want)
	}
	if failed := tests.Failed(); len(failed) != 1 || failed[0] != "a" {
		t.Errorf("these have failed: %q", failed)
	}
}

// several are the events of packages of which something is to be said at the end.
var several = []string{
	"start a", "run a TestSlow", "run a TestSlow/step", "output a TestSlow/step -     a_test.go:9: it is slow", "pass a TestSlow/step 3", "pass a TestSlow 5",
	"run a TestSame", "run a TestSame/step", "pass a TestSame/step 4", "pass a TestSame 4", "run a TestQuick", "pass a TestQuick 0.5",
	"run a TestKubelet", "output a TestKubelet - === RUN   TestKubelet", "output a TestKubelet -     a_test.go:7: it needs a real",
	"output a TestKubelet -         kubelet: make e2e", "output a TestKubelet - --- SKIP: TestKubelet (0.00s)", "skip a TestKubelet 0",
	"run a TestMute", "output a TestMute - === ATTR  TestMute testbed.tier e2e", "skip a TestMute 0", "pass a - 9",
	"start b", "run b TestWrong", "output b TestWrong -     b_test.go:7: expected <1> & \x00, got 2", "fail b TestWrong 2", "fail b - 2",
	"start c", "output c - - no cluster", "fail c - 1",
}

func TestSummary(t *testing.T) {
	tests := events.New(module)
	feed(t, tests, several...)
	want := `Skipped:
  a TestKubelet: it needs a real kubelet: make e2e
  a TestMute: it does not say why
The slowest tests:
        5s  a TestSlow
        4s  a TestSame/step
        2s  b TestWrong
Failed:
  b TestWrong
  c
3 packages, 6 tests, 2 skipped, 2 failed
`
	if got := tests.Summary(true); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	_, want, _ = strings.Cut(want, "it does not say why\n")
	if got := tests.Summary(false); got != want {
		t.Errorf("without what was skipped: got\n%s\nexpected\n%s", got, want)
	}
}

func TestWriteJUnit(t *testing.T) {
	tests := events.New(module)
	feed(t, tests, several...)
	var out bytes.Buffer
	if err := events.WriteJUnit(&out, tests.Packages); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Count string `xml:"tests,attr"`
			Wrong string `xml:"failures,attr"`
			Left  string `xml:"skipped,attr"`
			Time  string `xml:"time,attr"`
			Cases []struct {
				Class   string  `xml:"classname,attr"`
				Name    string  `xml:"name,attr"`
				Time    string  `xml:"time,attr"`
				Failure *string `xml:"failure"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, &out)
	}
	text := ""
	for _, suite := range got.Suites {
		text += fmt.Sprintf("%s tests=%s failures=%s skipped=%s time=%s\n", suite.Name, suite.Count, suite.Wrong, suite.Left, suite.Time)
		for _, c := range suite.Cases {
			text += fmt.Sprintf("  %s.%s %s", c.Class, c.Name, c.Time)
			if c.Failure != nil {
				text += " failed: " + strings.TrimSpace(*c.Failure)
			}
			if c.Skipped != nil {
				text += " skipped: " + c.Skipped.Message
			}
			text += "\n"
		}
	}
	want := `a tests=7 failures=0 skipped=2 time=9.000
  a.TestSlow/step 3.000
  a.TestSlow 5.000
  a.TestSame/step 4.000
  a.TestSame 4.000
  a.TestQuick 0.500
  a.TestKubelet 0.000 skipped: it needs a real kubelet: make e2e
  a.TestMute 0.000 skipped: it does not say why
b tests=1 failures=1 skipped=0 time=2.000
  b.TestWrong 2.000 failed: b_test.go:7: expected <1> & ` + "\uFFFD" + `, got 2
c tests=1 failures=1 skipped=0 time=1.000
  c.c 1.000 failed: no cluster
`
	if text != want {
		t.Errorf("got\n%s\nexpected\n%s", text, want)
	}
}
