// Package check runs a chapter's suite against an operator, and reads from the suite's report which features hold.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/report"
)

// Input says what to run, and against what.
type Input struct {
	// Suite is the suite's executable, as runner.BuildSuite makes it, and Dir the directory of its package, in which it runs.
	Suite string
	Dir   string
	// Features are the names of the suite's test functions: see [Features]. Each of them has a result in the end.
	Features []string
	// Only chooses some of them, as go test's -run does; empty means all.
	Only string
	// Args are more arguments, and Env more variables than this process has. They name the cluster, the operator and its manifests.
	Args []string
	Env  []string
	// Log gets what the suite prints.
	Log io.Writer
	// Done is called with each result as soon as it is known, unless it is nil.
	Done func(framework.Result)
}

// reportVariable is the environment variable that names the file of a suite's report.
const reportVariable = "TESTBED_REPORT"

const (
	// rereadAfter is the pause after which the report is read again.
	rereadAfter = 50 * time.Millisecond
	// toStop is how long a suite that was interrupted may take to remove its cluster.
	toStop = time.Minute
)

// Run runs the suite and returns the results of its features, by name. A feature that the suite has said nothing about was not tried
// because something is broken: see [framework.Result]. The error is about what stands in the way of a result, such as a cluster that does not
// start, and not about features that do not hold. With it come the results that are known.
func Run(ctx context.Context, in Input) (results []framework.Result, err error) {
	chosen, err := Only(in.Only, in.Features)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	path := filepath.Join(work, "report.jsonl")

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	suite := exec.CommandContext(ctx, in.Suite, slices.Concat([]string{"-test.run=" + in.Only}, in.Args)...)
	suite.Dir, suite.Stdout, suite.Stderr = in.Dir, in.Log, in.Log
	// What the suite says about artifacts is in the report, too, and not in the output of an outer script.
	suite.Env = slices.Concat(os.Environ(), []string{"TESTBED_FAILURES="}, in.Env, []string{reportVariable + "=" + path})
	suite.Cancel = func() error { return suite.Process.Signal(os.Interrupt) }
	suite.WaitDelay = toStop
	if err := suite.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- suite.Wait() }()
	read := follower{path: path, report: report.Report{Done: func(r framework.Result) {
		if ctx.Err() == nil && in.Done != nil { // what an interrupted suite reports says nothing about the operator
			in.Done(r)
		}
	}}}
	var exit error
	for running := true; running; {
		select {
		case exit = <-ended:
			running = false
		case <-time.After(rereadAfter):
		}
		if err := read.more(); err != nil {
			cancel(err)
		}
	}
	if ctx.Err() != nil {
		return read.report.Results, context.Cause(ctx)
	}
	return complete(chosen, read.report, exit)
}

// complete adds a result for each feature that the report lacks. exit is the error of the suite's process.
func complete(chosen []string, reported report.Report, exit error) ([]framework.Result, error) {
	if exited := new(exec.ExitError); exit != nil && !errors.As(exit, &exited) {
		return reported.Results, exit
	}
	reason := ""
	switch start := reported.Start; {
	case start != nil && start.Outcome == framework.DoesNotHold:
		reason = "the operator does not start: " + start.Message
	case start != nil:
		return reported.Results, fmt.Errorf("the cluster does not start: %s", start.Reason)
	case exit != nil:
		reason = fmt.Sprintf("the suite stopped before it (%v)", exit)
	}
	results := slices.Clone(reported.Results)
	for _, name := range chosen {
		if slices.ContainsFunc(results, func(r framework.Result) bool { return NameOf(r) == name }) {
			continue
		}
		if reason == "" {
			return reported.Results, fmt.Errorf("the suite has no result for %s, although it passes", name)
		}
		results = append(results, framework.Result{Test: name, Outcome: framework.NotTried, Reason: reason, Failed: true})
	}
	slices.SortStableFunc(results, func(a, b framework.Result) int { return strings.Compare(a.Test, b.Test) })
	if exit != nil && !slices.ContainsFunc(results, func(r framework.Result) bool { return r.Failed }) {
		return results, fmt.Errorf("the suite failed, although each of its features holds: %w", exit)
	}
	return results, nil
}

// NameOf returns the name of the test function that a result is of.
func NameOf(r framework.Result) string {
	name, _, _ := strings.Cut(r.Test, "/")
	return name
}

// follower follows a report while it is being written.
type follower struct {
	path   string
	read   int64 // so many bytes
	report report.Report
}

// more reads what was not read before.
func (f *follower) more() error {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := io.Copy(&f.report, io.NewSectionReader(file, f.read, 1<<62))
	f.read += n
	if err = cmp.Or(err, f.report.Err()); err != nil {
		return fmt.Errorf("read the suite's report: %w", err)
	}
	return nil
}
