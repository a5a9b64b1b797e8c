// Command runner runs the parts of make test, make test-all, make e2e, make nightly and .ci/run, and shows that long commands are still
// running. It needs only the standard library, and packages of this repository that do, because it is compiled before anything else:
// scripts/run does that, and then becomes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/scripts/runner/nights"
	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/process"
	"github.com/example/operator-testbed/scripts/runner/progress"
	"github.com/example/operator-testbed/scripts/runner/run"
	"github.com/example/operator-testbed/scripts/runner/times"
)

const (
	// failuresVariable names the file to which suites write where the evidence of their failures is.
	failuresVariable = "TESTBED_FAILURES"
	// watchedVariable is set for what runs under a watchdog, which needs no other.
	watchedVariable = "TESTBED_WATCHED"
)

const (
	// module is the path of the root module.
	module = "github.com/example/operator-testbed"
	// hanging is for how long nothing must have happened before the watchdog ends a run.
	hanging = 10 * time.Minute
	// quiet is after how long without output a line of progress is printed.
	quiet = 5 * time.Second
	// grace is how long what is interrupted may take to end: deleting a kind cluster takes a while on a busy machine. When this process was
	// killed, nobody waits for it.
	grace      = 5 * time.Minute
	guardGrace = time.Minute
)

// impatience is how long after a signal another one ends the grace.
const impatience = 3 * time.Second

// exitUsage is the exit code of a call that makes no sense.
const exitUsage = 2

func main() {
	process.Become()
	code, err := start(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "scripts/run: %v\n", err)
	}
	os.Exit(code)
}

// start does what the arguments say, and returns the exit code.
func start(arguments []string) (int, error) {
	root, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	if err := gocommand.Setup(); err != nil {
		return 1, err
	}
	name := ""
	if len(arguments) > 0 {
		name, arguments = arguments[0], arguments[1:]
	}
	switch {
	case name == "progress" && len(arguments) > 1:
		return attended(func(stop stopping, guard *process.Guard) (int, error) { return showProgress(stop, guard, arguments) })
	case name == "gotest" && len(arguments) > 2:
		return attended(func(stop stopping, guard *process.Guard) (int, error) {
			return runPlan(stop, guard, root, oneTest(arguments[0], arguments[1], arguments[2:]))
		})
	case name == "times" && len(arguments) == 0:
		fmt.Print(times.Table())
		return 0, nil
	case name == "nights" && len(arguments) == 0:
		return 0, printNights(context.Background(), root)
	case slices.Contains(plan.Names(), name):
		p, err := choose(root, name, arguments)
		if err != nil {
			return exitUsage, err
		}
		return attended(func(stop stopping, guard *process.Guard) (int, error) { return runPlan(stop, guard, root, p) })
	}
	return exitUsage, errors.New(usage())
}

// attended calls a function that runs commands, and returns its exit code, or that of a program which a signal has ended.
func attended(do func(stopping, *process.Guard) (int, error)) (int, error) {
	guard, err := process.NewGuard(guardGrace)
	if err != nil {
		return 1, err
	}
	stop := catch()
	code, err := do(stop, guard)
	if err != nil && code == 0 {
		code = 1
	}
	if caught, is := errors.AsType[signaled](context.Cause(stop.ctx)); is {
		if number, is := caught.Signal.(syscall.Signal); is {
			code = 128 + int(number) // as in a shell
		}
	}
	return code, err
}

func usage() string {
	return fmt.Sprintf("give one of %s, with -part=NAME for each part and STAGE for a chapter; or progress [--lines] WHAT COMMAND [ARGUMENT...]; or gotest WHAT DIRECTORY ARGUMENT...; or times, or nights",
		strings.Join(plan.Names(), ", "))
}

// choose returns the plan that the arguments name.
func choose(root, name string, arguments []string) (plan.Plan, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	var only []string
	flags.Func("part", "run only the part with this name, and those that it needs; all parts if empty", func(part string) error {
		if part != "" {
			only = append(only, part)
		}
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return plan.Plan{}, err
	}
	if flags.NArg() > 1 {
		return plan.Plan{}, errors.New(usage())
	}
	return plan.For(name, plan.Request{Root: root, Stage: flags.Arg(0), Cluster: os.Getenv("CLUSTER")}, only)
}

// oneTest is a plan with one call of go test.
func oneTest(what, directory string, arguments []string) plan.Plan {
	tests := &plan.Tests{}
	for _, argument := range arguments {
		if strings.HasPrefix(argument, "-") {
			tests.Flags = append(tests.Flags, argument)
		} else {
			tests.Packages = append(tests.Packages, argument)
		}
	}
	return plan.Plan{Name: what, Parts: []plan.Part{{Name: "tests of " + what, Dir: directory, Tests: tests}}}
}

// stopping is done when a signal asks this process to stop.
type stopping struct {
	ctx  context.Context
	kill <-chan struct{} // closed at the second signal
}

// signaled is the cause of a context that a signal has ended.
type signaled struct{ os.Signal }

func (s signaled) Error() string { return s.String() }

// catch catches the signals that ask a program to stop. nohup ignores SIGHUP so that a command outlives its terminal, and catching it would
// take that back.
func catch() stopping {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, signals...)
	ctx, cancel := context.WithCancelCause(context.Background())
	kill := make(chan struct{})
	go func() {
		first := <-caught
		cancel(signaled{first})
		// A signal to the group of make reaches this process, and then make sends it again. So only a later one means impatience.
		for begin := time.Now(); ; {
			if <-caught; time.Since(begin) > impatience {
				close(kill)
				return
			}
		}
	}()
	return stopping{ctx: ctx, kill: kill}
}

// showProgress runs one command.
func showProgress(stop stopping, guard *process.Guard, arguments []string) (int, error) {
	o := progress.Options{
		Live: terminal(os.Stderr), Stdout: os.Stdout, Stderr: os.Stderr, Guard: guard, Grace: grace, Kill: stop.kill,
	}
	if len(arguments) > 0 && arguments[0] == "--lines" {
		o.Live, arguments = false, arguments[1:]
	}
	if len(arguments) < 2 {
		return exitUsage, errors.New(usage())
	}
	o.What = arguments[0]
	return progress.Run(stop.ctx, o, arguments[1:])
}

// terminal reports whether a line can change in place.
func terminal(file *os.File) bool {
	info, err := file.Stat()
	kind := os.Getenv("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && kind != "" && kind != "dumb"
}

// runPlan runs a plan, and prints in its last lines where to see more of what failed.
func runPlan(stop stopping, guard *process.Guard, root string, p plan.Plan) (int, error) {
	artifacts, err := home.Artifacts()
	if err != nil {
		return 1, err
	}
	results, releaseResults, err := claim(filepath.Join(artifacts, "junit", fileName(p.Name)))
	if err != nil {
		return 1, err
	}
	defer releaseResults()
	o := run.Options{
		Root: root, Module: module, Out: os.Stdout, Progress: os.Stderr, Guard: guard, Results: results, Env: os.Environ(),
		Quiet: quiet, Grace: grace, Kill: stop.kill,
	}
	if os.Getenv(watchedVariable) == "" {
		o.Watch = hanging
		o.Env = append(o.Env, watchedVariable+"=yes")
	}
	failures, release, err := failuresFile(root)
	if err != nil {
		return 1, err
	}
	defer release()
	if failures != "" {
		o.Env = append(o.Env, failuresVariable+"="+failures)
	}
	var record *nights.Record
	if p.Nightly {
		if record, err = openRecord(stop.ctx, root); err != nil {
			return 1, err
		}
		o.Ended = record.Ended
	}
	code, eventFiles := run.Run(stop.ctx, p, o)
	if path := os.Getenv(run.EventsVariable); path != "" {
		if err := concatenate(path, eventFiles); err != nil {
			return max(code, 1), err
		}
	}
	lines, err := lastLines(p, eventFiles)
	if record != nil {
		err = errors.Join(err, record.Err())
		lines = append([]string{record.Table(p.Proving())}, lines...)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	if failures != "" {
		if seen, err := os.ReadFile(failures); err == nil {
			_, _ = os.Stdout.Write(seen)
		}
	}
	return code, err
}

// concatenate writes what is in files to a file.
func concatenate(to string, files []string) error {
	all, err := os.Create(to)
	if err != nil {
		return err
	}
	for _, path := range files {
		file, err := os.Open(path)
		if err == nil {
			_, err = io.Copy(all, file)
			_ = file.Close()
		}
		if err != nil {
			return errors.Join(err, all.Close())
		}
	}
	return all.Close()
}

// openRecord opens the record of nightly runs.
func openRecord(ctx context.Context, root string) (*nights.Record, error) {
	state, err := home.State()
	if err != nil {
		return nil, err
	}
	return nights.Open(ctx, root, filepath.Join(state, "nightly.json"))
}

// printNights prints which parts of make nightly have passed, and when.
func printNights(ctx context.Context, root string) error {
	p, err := plan.For("nightly", plan.Request{Root: root}, nil)
	if err != nil {
		return err
	}
	record, err := openRecord(ctx, root)
	if err == nil {
		fmt.Println(record.Table(p.Proving()))
	}
	return err
}

// fileName makes a name for a file from what a plan is called, without what make and .ci/run are.
func fileName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "make "), ".ci/")
	return strings.Map(func(c rune) rune {
		if c == '/' || c == ' ' {
			return '-'
		}
		return c
	}, name)
}

// failuresFile returns the path of the file to which suites write, unless the program that has started this one has named one: then that
// program prints it.
func failuresFile(root string) (path string, release func(), err error) {
	if os.Getenv(failuresVariable) != "" {
		return "", func() {}, nil
	}
	directory, release, err := claim(filepath.Join(root, "bin", "run"))
	return filepath.Join(directory, "failures"), release, err
}

// claim makes an empty directory with this path. While another run uses that, it is path-2, and so on. The path is the same at each run,
// because Go's cache holds a test's result only for the same environment.
func claim(path string) (claimed string, release func(), err error) {
	for i := 1; ; i++ {
		claimed := path
		if i > 1 {
			claimed = fmt.Sprintf("%s-%d", path, i)
		}
		if err := os.MkdirAll(claimed, 0o755); err != nil {
			return "", nil, err
		}
		directory, err := os.Open(claimed)
		if err != nil {
			return "", nil, err
		}
		// Where the file system has no locks, two runs at the same time are not kept apart.
		if err := syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
			_ = directory.Close()
			continue
		}
		old, err := directory.Readdirnames(-1)
		for _, name := range old {
			err = errors.Join(err, os.RemoveAll(filepath.Join(claimed, name)))
		}
		if err != nil {
			return "", nil, errors.Join(err, directory.Close())
		}
		return claimed, func() { _ = directory.Close() }, nil
	}
}
