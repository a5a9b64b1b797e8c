// Package browser opens pages in a browser without a window, for tests: what a page shows, whether it complains, and whom it asks.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	logs "github.com/chromedp/cdproto/log"
)

// Patience is how long something is waited for at most, such as a text in a page: so long that only a fault keeps it from coming.
const Patience = 5 * time.Minute

// names are those of the program, in Debian, elsewhere, and from Google.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Start starts a browser, and returns a context for [chromedp.Run] with its first tab. Without a browser, the test is skipped, except in
// CI, where nobody would notice.
func Start(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	switch {
	case program == "" && os.Getenv("CI") == "true":
		t.Fatalf("none of %q is on PATH: install chromium", names)
	case program == "":
		t.Skipf("none of %q is on PATH: install chromium to test what pages show", names)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program),
		// The browser's own services can't reach anything.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.WSURLReadTimeout(Patience))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with its sandbox.
	}
	// The test's context ends before its cleanup, and a browser that is killed leaves files behind.
	allocated, kill := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(kill)
	tab, _ := chromedp.NewContext(allocated, chromedp.WithBrowserOption(chromedp.WithDialTimeout(Patience)))
	t.Cleanup(func() {
		closing, giveUp := context.WithTimeout(tab, Patience)
		defer giveUp()
		_ = chromedp.Cancel(closing)
	})
	if err := chromedp.Run(tab); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return tab
}

// Tab opens another tab of the browser.
func Tab(ctx context.Context, t *testing.T) context.Context {
	t.Helper()
	tab, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(tab); err != nil { // it would end with the context of what is done in it first
		t.Fatalf("open another tab: %v", err)
	}
	return tab
}

// Holds waits until an expression in the page is true. chromedp.Poll names the execution context that it has last heard of, which after a
// navigation may be that of the page before; without a name, the browser takes the current one.
func Holds(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			var is bool
			if err := chromedp.Evaluate("Boolean("+expression+")", &is).Do(ctx); err != nil || is {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// click is what [Click] does in the page. Like a mouse, it moves the focus to the element, or to the next one around it that can have it.
const click = `(() => {
	const element = document.querySelector(%q)
	if (!element) return false
	element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" })
	const box = element.getBoundingClientRect()
	if (!element.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2))) return false
	let at = element
	do at.focus({ preventScroll: true })
	while (document.activeElement !== at && (at = at.parentElement))
	element.click()
	return true
})()`

// Click clicks on the first element that a selector matches, as soon as it can be seen and nothing covers it. To look and to click is one
// step, because whoever reads a position first, and clicks there afterwards, misses what has moved in between.
func Click(selector string) chromedp.Action {
	return Holds(fmt.Sprintf(click, selector))
}

// Seen is what a tab has done.
type Seen struct {
	mu         sync.Mutex
	complaints []string
	hosts      map[string]bool
}

// Watch notes what a tab does from now on.
func Watch(ctx context.Context, t *testing.T) *Seen {
	t.Helper()
	seen := &Seen{hosts: map[string]bool{}}
	chromedp.ListenTarget(ctx, seen.note)
	if err := chromedp.Run(ctx, network.Enable(), runtime.Enable(), logs.Enable()); err != nil {
		t.Fatal(err)
	}
	return seen
}

func (s *Seen) note(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if address, err := url.Parse(e.Request.URL); err == nil {
			s.hosts[address.Host] = true
		}
	case *runtime.EventExceptionThrown:
		s.complaints = append(s.complaints, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			s.complaints = append(s.complaints, fmt.Sprintf("the console has %s: %v", e.Type, e.Args))
		}
	case *logs.EventEntryAdded:
		if e.Entry.Level == logs.LevelError || e.Entry.Level == logs.LevelWarning {
			s.complaints = append(s.complaints, fmt.Sprintf("%s: %s (%s)", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

// Complaints returns errors and warnings: those that were thrown, written to the console, or come from the browser, such as one about
// something that the page's policy forbids.
func (s *Seen) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.complaints)
}

// Hosts returns whom the tab has asked.
func (s *Seen) Hosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for host := range s.hosts {
		all = append(all, host)
	}
	slices.Sort(all)
	return all
}
