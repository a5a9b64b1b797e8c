package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/scripts/runner/events"
	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/process"
)

// dumping is how long test binaries get to print their goroutines and go test to report them, before a run that hangs is interrupted.
const dumping = 30 * time.Second

// do runs a part, and returns its result.
func (r *runner) do(ctx context.Context, to *result, sets []string) *result {
	begin := time.Now()
	view := r.console.open(to.part.Name, r.plan.AtOnce > 1)
	err := r.execute(ctx, to, sets, view)
	to.took = time.Since(begin)
	switch {
	case err == nil && to.code == 0:
		to.verdict = ok
	case ctx.Err() != nil:
		to.verdict = stopped
	case err != nil:
		fmt.Fprintln(view, err)
		to.code = 1
		fallthrough
	default:
		to.verdict = fmt.Sprintf("failed (%d)", to.code)
	}
	if err := r.report(to, view); err != nil {
		fmt.Fprintln(view, err)
	}
	view.close()
	return to
}

// execute does what a part says.
func (r *runner) execute(ctx context.Context, to *result, sets []string, view *view) error {
	switch part := to.part; {
	case part.Do != nil:
		return r.check(ctx, part, view)
	case part.Tests != nil:
		return r.tests(ctx, to, sets, view)
	default:
		out := view.line
		if part.Sets != "" {
			out = func(text string) { to.sets = strings.TrimSpace(text) }
		}
		path := r.file(part) + ".json"
		err := r.command(ctx, to, part.Command, slices.Concat(sets, []string{EventsVariable + "=" + path}), view, out)
		return errors.Join(err, r.readEvents(to, path))
	}
}

// EventsVariable names the file to which a command that is not go test writes what it has tested, in the form of go test -json.
const EventsVariable = "TESTBED_EVENTS"

// readEvents reads what a command has tested, if it has written that.
func (r *runner) readEvents(to *result, path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	to.events = path
	t := events.New(r.Module)
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if e, is := events.Parse(line); is {
			t.Add(e)
		}
		if errors.Is(err, io.EOF) {
			to.packages = t.Packages
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
}

// check calls a function.
func (r *runner) check(ctx context.Context, part plan.Part, view *view) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	hangs := r.hang()
	go func() { ended <- part.Do(ctx, view) }()
	select {
	case err := <-ended:
		return err
	case <-hangs:
		fmt.Fprintf(view, hung+".\n", part.Name, r.Watch)
		cancel()
		return <-ended
	}
}

// hung is what is printed of a part that hangs.
const hung = "%s hangs: for %s no test has started, ended or printed, and nothing was compiled"

// tests runs go test.
func (r *runner) tests(ctx context.Context, to *result, sets []string, view *view) error {
	path := r.file(to.part) + ".json"
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	to.events = path
	t := events.New(r.Module)
	command := slices.Concat([]string{"go", "test", "-json", "-timeout=0"}, to.part.Tests.Flags, to.part.Tests.Packages)
	view.set(t.Now())
	// What a program that a test runs has tested does not count.
	err = r.command(ctx, to, command, slices.Concat(sets, []string{EventsVariable + "="}), view, func(line string) {
		e, is := events.Parse(line)
		if !is {
			view.line(line)
			return
		}
		if ctx.Err() != nil { // what a test says while it is interrupted is no result
			return
		}
		_, _ = file.WriteString(line)
		if view.says(e.Output) {
			r.happened.Store(true)
		}
		if shown := t.Add(e); shown != "" {
			_, _ = io.WriteString(view, shown)
		}
		view.set(t.Now())
	})
	to.packages = t.Packages
	// The last lines of a plan about a tier name what was skipped, for all parts.
	_, _ = io.WriteString(view, t.Summary(len(r.plan.Tiers) == 0))
	return err
}

// command runs a program, and calls out with each line that it prints to standard output.
func (r *runner) command(ctx context.Context, to *result, command, sets []string, view *view, out func(string)) error {
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		return errors.Join(err, stdoutEnd.Close())
	}
	defer stderr.Close()
	hangs := r.hang()
	job, err := r.Guard.Start(process.Command{
		Args: slices.Concat(to.part.In, command), Dir: filepath.Join(r.Root, to.part.Dir),
		Env:    slices.Concat(r.Env, sets, r.plan.Env, to.part.Env),
		Stdout: stdoutEnd, Stderr: stderrEnd,
	})
	_, _ = stdoutEnd.Close(), stderrEnd.Close()
	if err != nil {
		to.code = 127
		return err
	}

	var reading sync.WaitGroup
	var one sync.Mutex // what out and view do is for one line at a time
	read := func(from io.Reader, each func(string)) {
		reading.Go(func() {
			for lines := bufio.NewReader(from); ; {
				text, err := lines.ReadString('\n')
				if text != "" {
					one.Lock()
					if view.says(text) {
						r.happened.Store(true)
					}
					each(text)
					one.Unlock()
				}
				if err != nil {
					return
				}
			}
		})
	}
	read(stdout, out)
	read(stderr, view.line)

	select {
	case <-job.Ended():
	case <-ctx.Done():
		to.killed = job.Interrupt(r.Grace, r.Kill)
	case <-hangs:
		fmt.Fprintf(view, hung+"; the goroutines of its tests follow.\n", to.part.Name, r.Watch)
		if job.Quit() > 0 {
			select {
			case <-job.Ended():
			case <-time.After(dumping):
			}
		}
		to.killed = job.Interrupt(r.Grace, r.Kill)
	}
	var left []process.Info
	to.code, to.cpu, left = job.Finish()
	to.killed = append(to.killed, left...)
	// What is left may hold the pipes open if it could not be killed.
	for _, pipe := range []*os.File{stdout, stderr} {
		_ = pipe.SetReadDeadline(time.Now().Add(drain))
	}
	reading.Wait()
	select {
	case <-hangs:
		if to.code == 0 {
			return errors.New("it hung")
		}
	default:
	}
	return nil
}

// drain is how long the last output of a part may take to arrive.
const drain = 10 * time.Second

// report writes the JUnit file of a part.
func (r *runner) report(to *result, view *view) error {
	packages := to.packages
	explained := slices.ContainsFunc(packages, func(p events.Package) bool { return p.Verdict == "fail" })
	if len(packages) == 0 || to.verdict != ok && !explained {
		step := events.Test{Package: r.plan.Name, Name: to.part.Name, Verdict: "pass", Elapsed: to.took}
		if to.verdict != ok {
			step.Verdict, step.Output = "fail", view.tail()
		}
		packages = append(packages, events.Package{Name: r.plan.Name, Verdict: step.Verdict, Elapsed: to.took, Tests: []events.Test{step}})
	}
	file, err := os.Create(r.file(to.part) + ".xml")
	if err != nil {
		return err
	}
	return errors.Join(events.WriteJUnit(file, packages), file.Close())
}
