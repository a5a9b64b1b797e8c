package browser_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

// served is a board that runs.
type served struct {
	url, host, invitation string
	stop                  func()
}

// twoStudents are the smallest class that has something to show, and somebody who would like to take part in the page.
var twoStudents = []board.Student{
	{ID: "s01", Name: "Ada Lovelace", Token: "token-of-s01"}, {ID: "s02", Name: `<img src=x onerror="document.title='owned'">`},
}

func serve(t *testing.T, students ...board.Student) served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- board.Serve(ctx, board.ServeOptions{Title: "ops", Dir: t.TempDir(), Out: write, Students: students})
		write.Close()
	}()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	var printed []byte
	for buffer := make([]byte, 4096); !strings.Contains(string(printed), "Ctrl-C"); {
		n, err := read.Read(buffer)
		printed = append(printed, buffer[:n]...)
		if err != nil {
			t.Fatalf("the board stopped after %s", printed)
		}
	}
	found := regexp.MustCompile(`(http://(127\.0\.0\.1:\d+))(/open/\w+)`).FindSubmatch(printed)
	if found == nil {
		t.Fatalf("no address in %s", printed)
	}
	return served{string(found[1]), string(found[2]), string(found[0]), stop}
}

// fail reports a check that fails.
func (s served) fail(t *testing.T, dir string, seq int, feature string) {
	t.Helper()
	s.report(t, dir, twoStudents[0], slices.Repeat([]event.Event{{Stage: "04-status", Outcome: event.Fail, Passed: 3, Of: 5, FirstFailed: feature}}, seq)...)
}

// report reports checks of a student's copy.
func (s served) report(t *testing.T, dir string, student board.Student, checks ...event.Event) {
	t.Helper()
	for i := range checks {
		checks[i].Schema, checks[i].Student, checks[i].Seq, checks[i].At, checks[i].Kind = event.Schema, student.ID, i+1, time.Now(), event.Check
	}
	if err := report.Send(t.Context(), report.Target{URL: s.url, Token: student.Token}, dir, checks); err != nil {
		t.Fatal(err)
	}
}

// run does something in a tab.
func run(tab context.Context, t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, browser.Patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// text waits until an element has a text. The page is looked at when it changes; the context limits the wait.
func text(selector, want string) chromedp.Action {
	return chromedp.Poll(fmt.Sprintf("document.querySelector(%q).textContent.includes(%q)", selector, want), nil, chromedp.WithPollingMutation(), chromedp.WithPollingTimeout(0))
}

// value returns that of an expression in the page.
func value[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	var v T
	run(ctx, t, chromedp.Evaluate(expression, &v))
	return v
}

func TestBoard(t *testing.T) {
	tab := browser.Start(t)
	seen := browser.Watch(tab, t)
	s, dir := serve(t, twoStudents...), t.TempDir()

	run(tab, t, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#grid"), text("#connection", "Live."), text("#summary", "0 of 2 have reported, 0 stuck."))
	// What is below the line about the connection does not move when the line comes.
	if height := value[[]int](tab, t, `((line) => [line.offsetHeight, (line.textContent = "", line.offsetHeight)])(document.querySelector("#connection"))`); height[0] != height[1] {
		t.Errorf("the line about the connection is %d pixels high, and %d without text", height[0], height[1])
	}
	s.fail(t, dir, 1, "TestAvailable")
	run(tab, t, text("#grid", "TestAvailable"), text("#summary", "1 of 2 have reported, 0 stuck."))
	s.fail(t, dir, 3, "TestAvailable")
	run(tab, t, text("#stuck", "Ada Lovelace in 04-status, for less than a minute: 3 checks in a row: TestAvailable fails"))
	if got := value[string](tab, t, "document.querySelector('td.here').textContent.trim()"); got != "3 of 5" {
		t.Errorf("the chapter has %q", got)
	}
	// A name from the roster stays text, in the page and in what replaces parts of it.
	run(tab, t, text("#grid", `<img src=x onerror="document.title='owned'">`))
	if images, title := value[int](tab, t, "document.images.length"), value[string](tab, t, "document.title"); images != 0 || title != "ops: the board" {
		t.Errorf("the page has %d images, and is called %q", images, title)
	}
	// Nothing of the page can be read by its scripts that would let them in elsewhere.
	if cookie := value[string](tab, t, "document.cookie"); cookie != "" {
		t.Errorf("scripts see the cookie %q", cookie)
	}
	quiet(t, seen)
	if hosts := seen.Hosts(); !slices.Equal(hosts, []string{s.host}) {
		t.Errorf("the page asked %q, expected %s alone", hosts, s.host)
	}
	s.stop()
	run(tab, t, text("#connection", "The connection to the board is lost."))
}

// Browsers open six connections to a server. All tabs share one stream, so the seventh and eighth do not wait for the others.
func TestEightTabs(t *testing.T) {
	first := browser.Start(t)
	s := serve(t, twoStudents...)
	run(first, t, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#grid"))
	tabs := []context.Context{first}
	for len(tabs) < 8 {
		tab := browser.Tab(first, t)
		run(tab, t, chromedp.Navigate(s.url), chromedp.WaitVisible("#grid"), text("#connection", "Live."))
		tabs = append(tabs, tab)
	}
	s.fail(t, t.TempDir(), 1, "TestAvailable")
	for i, tab := range tabs {
		run(tab, t, text("#grid", "TestAvailable"))
		t.Logf("tab %d shows it", i+1)
	}
}

// The board of a class at work, to be looked at, and checked for barriers. PICTURES=directory keeps the picture.
func TestBoardPicture(t *testing.T) {
	axe := browser.Axe(t)
	tab := browser.Start(t)
	checked := func(stage string, passed, of int, failed string) event.Event {
		outcome := event.Pass
		if failed != "" {
			outcome = event.Fail
		}
		return event.Event{Stage: stage, Passed: passed, Of: of, FirstFailed: failed, Outcome: outcome}
	}
	stuck := checked("04-status", 3, 5, "TestPodsFailing")
	// A student has a copy for each chapter.
	class := []struct {
		name   string
		copies [][]event.Event
	}{
		{"Ada Lovelace", [][]event.Event{{checked("03-controller", 5, 5, "")}, {checked("04-status", 5, 5, "")}}},
		{"Annie Easley", [][]event.Event{{checked("03-controller", 5, 5, "")}, {stuck, stuck, stuck}}},
		{"Edsger Dijkstra", [][]event.Event{{checked("03-controller", 3, 5, "TestDrift")}}},
		{"Grace Hopper", [][]event.Event{{checked("03-controller", 5, 5, "")}, {checked("04-status", 4, 5, "TestPodsFailing")}}},
		{"Katherine Johnson", [][]event.Event{{checked("03-controller", 5, 5, "")}, {{Stage: "04-status", Of: 5, Outcome: event.NotBuilt}}}},
		{"Niklaus Wirth", nil},
	}
	var students []board.Student
	for i, student := range class {
		id := fmt.Sprintf("s%02d", i+1)
		students = append(students, board.Student{ID: id, Name: student.name, Token: "token-of-" + id})
	}
	s := serve(t, students...)
	for i, student := range class {
		for _, checks := range student.copies {
			s.report(t, t.TempDir(), students[i], checks...)
		}
	}
	run(tab, t, chromedp.EmulateViewport(1200, 760), chromedp.Navigate(s.invitation), chromedp.WaitVisible("#grid"),
		text("#summary", "5 of 6 have reported, 1 stuck."), text("#stuck", "Annie Easley in 04-status"), text("#connection", "Live."))
	keep(tab, t, filepath.Join(pictures(t), "board.png"))
	noBarriers(tab, t, axe)
	run(tab, t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	noBarriers(tab, t, axe)
}

// noBarriers fails a test for what people who can't see the page, or use no mouse, would stumble over.
func noBarriers(tab context.Context, t *testing.T, axe string) {
	t.Helper()
	var found []string
	run(tab, t, chromedp.Evaluate(axe, nil), chromedp.Evaluate(barriers, &found, awaited))
	for _, barrier := range found {
		t.Error(barrier)
	}
}

// pictures returns the directory for pictures.
func pictures(t *testing.T) string {
	t.Helper()
	return cmp.Or(os.Getenv("PICTURES"), t.TempDir())
}

func TestBoardWithoutScripts(t *testing.T) {
	tab := browser.Start(t)
	s := serve(t, twoStudents...)
	s.fail(t, t.TempDir(), 1, "TestAvailable")
	run(tab, t, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(s.invitation), chromedp.WaitVisible("#grid"))
	var grid string
	run(tab, t, chromedp.Text("#grid", &grid))
	if !strings.Contains(grid, "TestAvailable") {
		t.Errorf("the page shows %s", grid)
	}
}

// Another browser gets in with an address that the first one asks for.
func TestAnotherBrowser(t *testing.T) {
	first, second := browser.Start(t), browser.Start(t)
	s := serve(t, twoStudents...)
	var address string
	run(first, t, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#grid"), browser.Click("button"), chromedp.Text("code", &address))
	run(second, t, chromedp.Navigate(address), chromedp.WaitVisible("#grid"))
}

// Without a browser, these tests are skipped, and the reason is named. In CI, nobody would read it, so there they fail.
func TestWithoutABrowser(t *testing.T) {
	for environment, want := range map[string]string{"CI=": "--- SKIP: TestBoardWithoutScripts", "CI=true": "--- FAIL: TestBoardWithoutScripts"} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestBoardWithoutScripts$")
		command.Env = []string{"PATH=" + t.TempDir(), environment}
		out, err := command.CombinedOutput()
		if failed := strings.Contains(want, "FAIL"); (err != nil) != failed || !strings.Contains(string(out), want) || !strings.Contains(string(out), "install chromium") {
			t.Errorf("%s: got %s, %v, expected %s", environment, out, err, want)
		}
	}
}
