// Package run runs a plan: its parts with what they need, side by side where the plan says so. It shows progress, the processor time of
// each part and what failed, writes JUnit files, and leaves nothing running.
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/example/operator-testbed/scripts/runner/events"
	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/process"
	"github.com/example/operator-testbed/scripts/runner/watchdog"
)

// Options say how to run a plan.
type Options struct {
	// Root is the root of the repository.
	Root string
	// Module is its path, which is left out of the names of packages.
	Module string
	// Out gets what is printed, and Progress the lines that only show that something is running.
	Out, Progress io.Writer
	Guard         *process.Guard
	// Results is the directory for JUnit files and events.
	Results string
	// Env is the environment of all parts.
	Env []string
	// Quiet is after how long without output a line of progress is printed.
	Quiet time.Duration
	// Watch is the period of the watchdog; 0 means none.
	Watch time.Duration
	// Looks are the moments at which the watchdog looks. Without them, it looks at intervals.
	Looks <-chan time.Time
	// Grace is how long a part that is interrupted may take to end.
	Grace time.Duration
	// Kill ends the grace when it is closed.
	Kill <-chan struct{}
	// Ended is called when a part has passed or failed, if it is not nil.
	Ended func(part string, passed bool, took time.Duration)
}

// A result is what became of a part.
type result struct {
	part    plan.Part
	verdict string // empty while it runs
	code    int
	took    time.Duration
	cpu     time.Duration
	// packages are those of a part with tests, or one that stands for a part without.
	packages []events.Package
	killed   []process.Info
	events   string // the path of the file with the events of tests
	sets     string
}

// verdicts of parts.
const (
	ok      = "ok"
	stopped = "stopped"
	notRun  = "not run"
)

// runner is one run of a plan.
type runner struct {
	Options
	plan    plan.Plan
	begin   time.Time
	console *console
	sets    []string // variables that parts have set
	// happened is set when a part does something, and read by the watchdog.
	happened atomic.Bool

	mu    sync.Mutex
	hangs chan struct{} // closed when what runs now hangs
}

// Run runs a plan until it has ended or ctx is done. It returns the exit code of the first part that failed, or 0, and the paths of the
// files with the events of tests.
func Run(ctx context.Context, p plan.Plan, o Options) (code int, eventFiles []string) {
	r := &runner{Options: o, plan: p, begin: time.Now(), console: newConsole(o.Out, o.Progress, o.Quiet), hangs: make(chan struct{})}
	if err := os.MkdirAll(o.Results, 0o755); err != nil {
		fmt.Fprintln(o.Out, err)
		return 1, nil
	}
	for _, line := range p.About {
		fmt.Fprintln(o.Out, line)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	if o.Watch > 0 {
		go r.watch(watching)
	}
	go r.console.beat(watching)

	results := r.schedule(ctx, stop)
	stopWatching()
	r.finally(results)
	for _, part := range results {
		if part.code != 0 && part.verdict != stopped && code == 0 {
			code = part.code
		}
		if part.events != "" {
			eventFiles = append(eventFiles, part.events)
		}
	}
	if code == 0 && slices.ContainsFunc(results, func(r *result) bool { return r.verdict == stopped }) {
		code = 1
	}
	r.summary(results, code)
	return code, eventFiles
}

// schedule runs the parts, and returns what became of those that were to run, in the order of the plan. The first that fails is the first
// with a verdict other than ok and stopped.
func (r *runner) schedule(ctx context.Context, stop context.CancelFunc) []*result {
	waiting := slices.Clone(r.plan.Parts)
	var all []*result
	passed := map[string]bool{}
	ended := make(chan *result)
	running, failed := 0, false
	for {
		for i := 0; i < len(waiting) && running < max(r.plan.AtOnce, 1) && ctx.Err() == nil; {
			part := waiting[i]
			if slices.ContainsFunc(part.Needs, func(need string) bool { return !passed[need] }) {
				i++
				continue
			}
			waiting = slices.Delete(waiting, i, i+1)
			running++
			started := &result{part: part}
			all = append(all, started)
			go func(env []string) { ended <- r.do(ctx, started, env) }(slices.Clone(r.sets))
		}
		if running == 0 {
			break
		}
		part := <-ended
		running--
		r.happened.Store(true)
		if r.Ended != nil && part.verdict != stopped {
			r.Ended(part.part.Name, part.verdict == ok, part.took)
		}
		switch part.verdict {
		case ok:
			passed[part.part.Name] = true
			if part.part.Sets != "" {
				r.sets = append(r.sets, part.part.Sets+"="+part.sets)
			}
		case stopped:
		default:
			if !failed { // it comes first, so its exit code is the plan's
				failed = true
				all = append([]*result{part}, slices.DeleteFunc(all, func(other *result) bool { return other == part })...)
			}
			if !r.plan.KeepGoing {
				stop()
			}
		}
	}
	if r.plan.KeepGoing {
		for _, part := range waiting {
			all = append(all, &result{part: part, verdict: notRun})
		}
	}
	return all
}

// looks is how often in its period the watchdog looks.
const looks = 20

// watch looks for parts that hang.
func (r *runner) watch(ctx context.Context) {
	w := watchdog.New(r.Watch/looks, looks)
	now := r.Looks
	if now == nil {
		ticks := time.NewTicker(r.Watch / looks)
		defer ticks.Stop()
		now = ticks.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-now:
		}
		all, err := process.List()
		if err != nil {
			continue
		}
		if w.Look(r.happened.Swap(false), process.Descendants(all, os.Getpid())) {
			r.mu.Lock()
			close(r.hangs)
			r.hangs = make(chan struct{})
			r.mu.Unlock()
		}
	}
}

// hang returns a channel that is closed when the parts that run now hang.
func (r *runner) hang() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hangs
}

// finally runs the commands that undo parts, the last part's first.
func (r *runner) finally(results []*result) {
	started := map[string]bool{}
	for _, part := range results {
		started[part.part.Name] = part.verdict != notRun
	}
	for _, part := range slices.Backward(r.plan.Parts) {
		if len(part.Finally) == 0 || !started[part.Name] {
			continue
		}
		undo := plan.Part{Name: "after " + part.Name, Dir: part.Dir, Env: part.Env, Command: part.Finally}
		if undone := r.do(context.Background(), &result{part: undo}, r.sets); undone.verdict != ok {
			fmt.Fprintf(r.Out, "%s: %s\n", undo.Name, undone.verdict)
		}
	}
}

// summary prints how long each part took, and what had to be killed.
func (r *runner) summary(results []*result, code int) {
	order := map[string]int{}
	for i, part := range r.plan.Parts {
		order[part.Name] = i
	}
	results = slices.Clone(results)
	slices.SortFunc(results, func(a, b *result) int { return order[a.part.Name] - order[b.part.Name] })
	for _, part := range results {
		for _, p := range part.killed {
			fmt.Fprintf(r.Out, "killed what %q has left running: %d %s\n", part.part.Name, p.PID, p.Arguments)
		}
	}
	fmt.Fprintln(r.Out)
	var cpu time.Duration
	for _, part := range results {
		cpu += part.cpu
		fmt.Fprint(r.Out, line(part.took, part.cpu, part.verdict, part.part.Name))
	}
	verdict := ok
	if code != 0 {
		verdict = "failed"
	}
	fmt.Fprint(r.Out, line(time.Since(r.begin), cpu, verdict, r.plan.Name+" in all"))
}

// line is a line of the summary. Processor time, unlike the time that a part took, hardly depends on what else the machine does.
func line(took, cpu time.Duration, verdict, name string) string {
	return fmt.Sprintf("%6d s %6d s CPU  %-12s %s\n", int(took.Seconds()), int(cpu.Seconds()), verdict, name)
}

// file returns the path of a file about a part, without its extension.
func (r *runner) file(part plan.Part) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-':
			return c
		}
		return '-'
	}, part.Name)
	return filepath.Join(r.Results, name)
}
