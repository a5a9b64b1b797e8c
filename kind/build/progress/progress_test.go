package progress

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// log is a writer that notes when it was written to.
type log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	started time.Time
	gaps    []time.Duration
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, time.Since(l.started))
	l.started = time.Now()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// pass lets a time pass on the clock of a synctest bubble, which takes none.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock is synctest's
}

// unbroken is for a display whose writer never fails.
func unbroken(t *testing.T) func(error) {
	t.Helper()
	return func(err error) { t.Errorf("the writer is said to be broken: %v", err) }
}

func TestLogIsNeverSilentForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{started: time.Now()}
		d := Start(out, nil, unbroken(t))
		d.Step(State{Step: 1, Steps: 2, Doing: "download modules"})
		pass(12 * time.Second)
		d.Step(State{Step: 2, Steps: 2, Doing: "etcd", Total: 3, Unit: "packages"})
		d.Update(State{Step: 2, Steps: 2, Doing: "etcd", Done: 1, Total: 3, Unit: "packages"})
		pass(6 * time.Second)
		d.Say("ready after %s", d.Elapsed())
		d.Stop()

		want := `[1/2] download modules, 0s
[1/2] download modules, 5s
[1/2] download modules, 10s
[2/2] etcd, 12s
[2/2] etcd: 1 of 3 packages, 17s
ready after 18s
`
		if out.String() != want {
			t.Errorf("got\n%s\nexpected\n%s", out, want)
		}
		for _, gap := range out.gaps {
			if gap > logInterval {
				t.Errorf("nothing was said for %s", gap)
			}
		}
	})
}

func TestLogHasNoControlCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		d := Start(out, nil, unbroken(t))
		d.Step(State{Doing: "look"})
		pass(time.Minute)
		d.Say("done")
		d.Stop()
		if control := regexp.MustCompile(`[^\P{Cc}\n]`).FindString(out.String()); control != "" {
			t.Errorf("the log has the control character %q", control)
		}
	})
}

func TestTerminalHasOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		d := Start(out, func() int { return 20 }, unbroken(t))
		d.Step(State{Doing: "compile everything there is"})
		pass(time.Second)
		d.Say("done")
		d.Stop()
		text := out.String()
		if got := strings.Count(text, "\n"); got != 1 {
			t.Errorf("%d lines stay, expected the one that was said: %q", got, text)
		}
		if !strings.HasPrefix(text, erase+"compile everything…") || !strings.HasSuffix(text, erase) {
			t.Errorf("the line is not cut, or not erased: %q", text)
		}
		if got := strings.Count(text, "compile"); got < 5 {
			t.Errorf("the line was shown %d times in a second, expected at least 5", got)
		}
	})
}

func TestStopEndsTheLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		d := Start(out, nil, unbroken(t))
		d.Step(State{Doing: "look"})
		d.Stop()
		before := out.String()
		pass(time.Minute)
		if after := out.String(); after != before {
			t.Errorf("lines follow after the end: %q", after)
		}
	})
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenWriterIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := Start(brokenPipe{}, nil, func(error) { calls++ })
		d.Step(State{Doing: "look"})
		pass(time.Minute)
		d.Stop()
		if calls != 1 {
			t.Errorf("a broken writer was reported %d times, expected once", calls)
		}
	})
}
