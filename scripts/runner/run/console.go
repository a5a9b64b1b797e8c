package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A console shows the output of parts, and lines of progress when nothing else has been shown for a while.
type console struct {
	out, progress io.Writer
	quiet         time.Duration
	begin         time.Time

	mu    sync.Mutex
	last  time.Time // when a line was shown
	views []*view   // of the parts that run
}

func newConsole(out, progress io.Writer, quiet time.Duration) *console {
	return &console{out: out, progress: progress, quiet: quiet, begin: time.Now(), last: time.Now()}
}

// open starts the output of a part. With others beside it, it is shown when the part has ended.
func (c *console) open(name string, beside bool) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &view{console: c, name: name, beside: beside}
	c.views = append(c.views, v)
	if !beside {
		fmt.Fprintf(c.out, "\n== %s\n", name)
		c.last = time.Now()
	}
	return v
}

// beat shows what runs, whenever nothing was shown for the quiet time.
func (c *console) beat(ctx context.Context) {
	ticks := time.NewTicker(max(c.quiet/5, time.Millisecond))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			c.mu.Lock()
			if now.Sub(c.last) >= c.quiet && len(c.views) > 0 {
				c.last = now
				for _, v := range c.views {
					fmt.Fprintf(c.progress, "%6d s  %s ...%s\n", int(now.Sub(c.begin).Seconds()), v.name, v.now)
				}
			}
			c.mu.Unlock()
		}
	}
}

// A view is the output of a part.
type view struct {
	console *console
	name    string
	beside  bool

	// These are protected by the console's lock.
	now      string // what runs, as " (…)", or empty
	kept     bytes.Buffer
	progress string // the last line of progress that another program has printed, without its time
}

// kept is how much of a part's output is kept for its JUnit file, at least.
const keptOutput = 64 << 10

// Write shows text.
func (v *view) Write(text []byte) (int, error) {
	v.console.mu.Lock()
	defer v.console.mu.Unlock()
	v.kept.Write(text)
	if v.beside {
		return len(text), nil
	}
	if v.kept.Len() > 2*keptOutput {
		v.kept.Next(v.kept.Len() - keptOutput)
	}
	v.console.last = time.Now()
	return v.console.out.Write(text)
}

// progressLine matches a line of progress, such as "    15 s  compiling … ... (etcd)": it says what runs and since when.
var progressLine = regexp.MustCompile(`^ *\d+ s  (.*) \.\.\.(?: \((.*)\))?\n?$`)

// line shows a line of a part's output. A line of progress is shown as one.
func (v *view) line(text string) {
	if match := progressLine.FindStringSubmatch(text); match != nil {
		now := match[2]
		if now == "" {
			now = match[1]
		}
		v.set(now)
		if v.beside {
			return // beat shows it
		}
		v.console.mu.Lock()
		defer v.console.mu.Unlock()
		v.console.last = time.Now()
		_, _ = io.WriteString(v.console.progress, text)
		return
	}
	_, _ = v.Write([]byte(text))
}

// set says what the part is doing.
func (v *view) set(now string) {
	v.console.mu.Lock()
	defer v.console.mu.Unlock()
	v.now = " (" + strings.TrimSpace(now) + ")"
}

// says reports whether a line of output shows that something has happened. A line of progress that only counts seconds does not.
func (v *view) says(text string) bool {
	match := progressLine.FindStringSubmatch(text)
	if match == nil {
		return true
	}
	v.console.mu.Lock()
	defer v.console.mu.Unlock()
	said := match[1] + match[2]
	changed := said != v.progress
	v.progress = said
	return changed
}

// tail returns the end of the output.
func (v *view) tail() string {
	v.console.mu.Lock()
	defer v.console.mu.Unlock()
	kept := v.kept.Bytes()
	return string(kept[max(0, len(kept)-keptOutput):])
}

// close shows what was kept of a part that ran beside others.
func (v *view) close() {
	c := v.console
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views = slices.DeleteFunc(c.views, func(other *view) bool { return other == v })
	if v.beside {
		fmt.Fprintf(c.out, "\n== %s\n", v.name)
		_, _ = c.out.Write(v.kept.Bytes())
		c.last = time.Now()
	}
}
