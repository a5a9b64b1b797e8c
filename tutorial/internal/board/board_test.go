package board_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

var students = []board.Student{
	{ID: "s01", Name: "Ada Lovelace", Token: "token-of-s01"},
	{ID: "s02", Name: "<img src=x onerror=alert(1)>", Token: "token-of-s02"},
	{ID: "s03"},
}

// class is a board that listens, and a clock of its own.
type class struct {
	*board.Board
	server *httptest.Server
	file   string
	now    time.Time
}

func newClass(t *testing.T, file string) *class {
	t.Helper()
	c := &class{file: file, now: start}
	var err error
	c.Board, err = board.Open(board.Options{Title: "ops", Students: students, File: file, Now: func() time.Time { return c.now }})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", c.Pages())
	for pattern, handler := range c.Reports() {
		mux.Handle(pattern, handler)
	}
	c.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		c.EndStreams()
		c.server.Close()
		if err := c.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// target is the board with the token of a student.
func (c *class) target(student string) report.Target {
	return report.Target{URL: c.server.URL, Token: "token-of-" + student}
}

// events are checks of a student that fail, with the numbers 1 to count.
func events(student string, count int) []event.Event {
	var all []event.Event
	for seq := 1; seq <= count; seq++ {
		all = append(all, event.Event{
			Schema: event.Schema, Student: student, Stage: "04-status", Seq: seq, At: time.Now(), Kind: "check", Outcome: "fail",
			Passed: 3, Of: 5, FirstFailed: "TestAvailable",
		})
	}
	return all
}

func (c *class) page(t *testing.T) string {
	t.Helper()
	response, err := http.Get(c.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return string(text)
}

func (c *class) lines(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func send(t *testing.T, to report.Target, dir string, all []event.Event) {
	t.Helper()
	if err := report.Send(t.Context(), to, dir, all); err != nil {
		t.Fatal(err)
	}
}

func TestPage(t *testing.T) {
	c := newClass(t, filepath.Join(t.TempDir(), "events"))
	if page := c.page(t); !strings.Contains(page, "0 of 3 have reported, 0 stuck.") {
		t.Errorf("the page of nothing is %s", page)
	}
	send(t, c.target("s01"), t.TempDir(), events("s01", 3))
	done := events("s02", 1)
	done[0].Lab, done[0].Outcome, done[0].Passed, done[0].FirstFailed = "hands-off", "pass", 5, ""
	send(t, c.target("s02"), t.TempDir(), done)
	page := c.page(t)
	for _, want := range []string{
		"<h1>ops</h1>", "2 of 3 have reported, 1 stuck.",
		"<li><strong>Ada Lovelace</strong> in 04-status, for less than a minute: 3 checks in a row: TestAvailable fails</li>",
		`<th scope="col">04-status</th><th scope="col">hands-off</th>`,
		`<td class="fail here" aria-current="step">3 of 5 <progress value="3" max="5" aria-hidden="true"></progress></td>`,
		`<td class="pass here" aria-current="step">✓ 5 of 5 `,
		`&lt;img src=x onerror=alert(1)&gt; <span class="faint">s02</span>`,
		`<tr><th scope="row">s03</th><td class=""></td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s: %s", want, page)
		}
	}
	if strings.Contains(page, "<img") {
		t.Error("a name has become an element")
	}
	// As time goes by, nothing has to happen to be stuck.
	c.now = c.now.Add(20 * time.Minute)
	if page := c.page(t); !strings.Contains(page, "no progress for 20 minutes") || !strings.Contains(page, "<td>20 minutes ago</td>") {
		t.Errorf("20 minutes later the page is %s", page)
	}
}

func TestReportsAreRefused(t *testing.T) {
	c := newClass(t, filepath.Join(t.TempDir(), "events"))
	post := func(token, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.server.URL+report.Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	ada := "token-of-s01"
	one := func(change func(*report.Report)) string {
		r := report.Report{Schema: report.Schema, Copy: "ABC", SentAt: time.Now(), Events: events("s01", 1)}
		change(&r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	altered := func(change func(*event.Event)) string { return one(func(r *report.Report) { change(&r.Events[0]) }) }
	fine := one(func(*report.Report) {})
	for _, test := range []struct {
		name, token, body string
		want              int
	}{
		{"no token", "", fine, 401},
		{"a token that is longer", ada + "x", fine, 401},
		{"the token of one who is not in the class", "token-of-s99", fine, 401},
		{"a student who is forged", "token-of-s02", fine, 403},
		{"another student among one's own", ada, one(func(r *report.Report) { r.Events = append(r.Events, events("s02", 1)...) }), 403},
		{"no student", ada, altered(func(e *event.Event) { e.Student = "" }), 403},
		{"no JSON", ada, "{", 400},
		{"too much", ada, `{"copy":"` + strings.Repeat("A", 300<<10) + `"}`, 400},
		{"another schema", ada, one(func(r *report.Report) { r.Schema = "lab-report/v0" }), 400},
		{"no copy", ada, one(func(r *report.Report) { r.Copy = "" }), 400},
		{"a copy with a path", ada, one(func(r *report.Report) { r.Copy = "../x" }), 400},
		{"nothing", ada, one(func(r *report.Report) { r.Events = nil }), 400},
		{"too many", ada, one(func(r *report.Report) { r.Events = events("s01", report.Most+1) }), 400},
		{"an event of another schema", ada, altered(func(e *event.Event) { e.Schema = "" }), 400},
		{"an unknown kind", ada, altered(func(e *event.Event) { e.Kind = "grade" }), 400},
		{"no chapter", ada, altered(func(e *event.Event) { e.Stage = "" }), 400},
		{"a long text", ada, altered(func(e *event.Event) { e.FirstFailed = strings.Repeat("A", 101) }), 400},
		{"no number", ada, altered(func(e *event.Event) { e.Seq = 0 }), 400},
		{"more than all", ada, altered(func(e *event.Event) { e.Passed = 6 }), 400},
		{"less than nothing", ada, altered(func(e *event.Event) { e.Hints = -1 }), 400},
	} {
		if got := post(test.token, test.body); got != test.want {
			t.Errorf("%s: got %d, expected %d", test.name, got, test.want)
		}
	}
	if got := c.lines(t); got != 0 {
		t.Errorf("%d events were kept of what was refused", got)
	}
	if got := post(ada, fine); got != http.StatusNoContent {
		t.Errorf("a report that is fine: got %d", got)
	}
}

// A copy sends what is missing when the network is back, and the board keeps each event once, however often it comes.
func TestCatchingUp(t *testing.T) {
	c := newClass(t, filepath.Join(t.TempDir(), "events"))
	dir := t.TempDir()
	all := events("s01", report.Most+10)

	const gone = "http://127.0.0.1:1" // where no program listens; the port of a server that was closed may be another's by now
	err := report.Send(t.Context(), report.Target{URL: gone, Token: "x"}, dir, all[:2])
	if err == nil || !strings.Contains(err.Error(), "report to the board at "+gone) || !strings.Contains(err.Error(), "the next report has this one, too") {
		t.Fatalf("without a network: %v", err)
	}
	send(t, c.target("s01"), dir, all[:3])
	if got := c.lines(t); got != 3 {
		t.Fatalf("the board has %d events, expected 3", got)
	}
	send(t, c.target("s01"), dir, all[:3])
	send(t, c.target("s01"), dir, all) // in two reports
	if got := c.lines(t); got != len(all) {
		t.Fatalf("the board has %d events, expected %d", got, len(all))
	}

	// An answer that was lost: the copy does not know what it has sent. Another copy counts its own events.
	state, err := os.ReadFile(filepath.Join(dir, ".reported"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Copy string }
	if err := json.Unmarshal(state, &s); err != nil || s.Copy == "" {
		t.Fatalf("%s: %v", state, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".reported"), []byte(`{"copy":"`+s.Copy+`","seq":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	send(t, c.target("s01"), dir, all)
	if got := c.lines(t); got != len(all) {
		t.Errorf("the board has %d events after some came twice, expected %d", got, len(all))
	}
	send(t, c.target("s01"), t.TempDir(), all[:2])
	if got := c.lines(t); got != len(all)+2 {
		t.Errorf("the board has %d events after another copy's, expected %d", got, len(all)+2)
	}
	// The events of a copy start over: they are those of a new copy.
	send(t, c.target("s01"), dir, all[:1])
	if got := c.lines(t); got != len(all)+3 {
		t.Errorf("the board has %d events after a copy started over, expected %d", got, len(all)+3)
	}
}

// The board goes on where it stopped, also if a line was not written to its end.
func TestRestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board", "events")
	first := newClass(t, file)
	dir := t.TempDir()
	send(t, first.target("s01"), dir, events("s01", 3))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, `{"received":"20`...), 0o600); err != nil {
		t.Fatal(err)
	}
	second := newClass(t, file)
	if page := second.page(t); !strings.Contains(page, "1 of 3 have reported, 1 stuck.") {
		t.Errorf("after a restart the page is %s", page)
	}
	send(t, second.target("s01"), dir, events("s01", 4))
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), `{"received":"20{`) {
		t.Errorf("the next line is in that which was cut off: %s, %v", text, err)
	}
	if got := second.lines(t); got != 4 {
		t.Errorf("the file has %d lines, expected 4", got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := board.Open(board.Options{File: file, Now: time.Now}); err == nil || !strings.Contains(err.Error(), "line 2 of "+file+" is not an event") {
		t.Errorf("a damaged file: %v", err)
	}
}

// The token goes to the board, and nowhere else.
func TestSendFollowsNoRedirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(http.StatusNoContent) }))
	defer other.Close()
	redirects := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer redirects.Close()
	if err := report.Send(t.Context(), report.Target{URL: redirects.URL}, t.TempDir(), events("s01", 1)); err == nil || asked != 0 {
		t.Errorf("got %v, and %d requests elsewhere", err, asked)
	}
}

// Clocks of laptops differ: what counts is how long ago something was when it was sent.
func TestClocks(t *testing.T) {
	for name, test := range map[string]struct {
		skew, before, later time.Duration
		want                string
	}{
		"fast, a minute ago": {3 * time.Hour, time.Minute, 0, "<td>1 minute ago</td>"},
		"slow, just now":     {-3 * time.Hour, 0, 0, "<td>just now</td>"},
		"in the future":      {0, -time.Hour, 5 * time.Minute, "<td>5 minutes ago</td>"},
		"caught up":          {0, 40 * time.Minute, 0, "<td>40 minutes ago</td>"},
	} {
		c := newClass(t, filepath.Join(t.TempDir(), "events"))
		sent := c.now.Add(test.skew)
		e := events("s01", 1)
		e[0].At = sent.Add(-test.before)
		body, err := json.Marshal(report.Report{Schema: report.Schema, Copy: "A", SentAt: sent, Events: e})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, report.Path, strings.NewReader(string(body)))
		request.Header.Set("Authorization", "Bearer token-of-s01")
		recorder := httptest.NewRecorder()
		c.Reports()["POST "+report.Path].ServeHTTP(recorder, request)
		c.now = c.now.Add(test.later)
		if page := c.page(t); recorder.Code != http.StatusNoContent || !strings.Contains(page, test.want) {
			t.Errorf("%s: %d, the page lacks %s: %s", name, recorder.Code, test.want, page)
		}
	}
}

// The page that is open shows a failure with the event that reports it.
func TestStream(t *testing.T) {
	c := newClass(t, filepath.Join(t.TempDir(), "events"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	next := func() string {
		var data strings.Builder
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			text, isData := strings.CutPrefix(line, "data: ")
			switch {
			case isData:
				data.WriteString(text)
			case line == "\n" && data.Len() > 0:
				return data.String()
			}
		}
	}
	if got := next(); !strings.Contains(got, "0 of 3 have reported") || strings.Contains(got, "TestAvailable") {
		t.Errorf("the first event is %s", got)
	}
	send(t, c.target("s01"), t.TempDir(), events("s01", 1))
	if got := next(); !strings.Contains(got, "1 of 3 have reported") || !strings.Contains(got, "<td>TestAvailable</td>") {
		t.Errorf("the next event is %s", got)
	}
}

// Of several copies of a chapter, the one counts that was used last.
func TestCopies(t *testing.T) {
	c := newClass(t, filepath.Join(t.TempDir(), "events"))
	send(t, c.target("s01"), t.TempDir(), events("s01", 3))
	c.now = c.now.Add(time.Minute)
	newer := events("s01", 1)
	newer[0].Passed, newer[0].FirstFailed = 4, "TestPort"
	send(t, c.target("s01"), t.TempDir(), newer)
	if page := c.page(t); !strings.Contains(page, "4 of 5 ") || !strings.Contains(page, "<td>TestPort</td>") || strings.Contains(page, "3 of 5") || !strings.Contains(page, "0 stuck") {
		t.Errorf("the page is %s", page)
	}
}
