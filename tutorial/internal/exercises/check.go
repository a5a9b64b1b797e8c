package exercises

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/trial"
)

// ErrNotBuilt is the error of [Check] for an operator that does not compile. The compiler's output was printed.
var ErrNotBuilt = errors.New("the operator does not compile")

// NotYetError is the error of [Check] for a copy of which not all features hold.
type NotYetError struct {
	// Score says how many do.
	Score check.Score
}

func (e *NotYetError) Error() string { return "not yet: " + e.Score.String() }

// CheckInput says what to check, and how.
type CheckInput struct {
	// Root is the repository, and Dir the copy.
	Root, Dir string
	// Only is a regular expression of the features to run; empty means all.
	Only string
	// Out gets a line for each feature when it is done, and then what a learner needs to know about those that do not hold.
	Out io.Writer
	// Done is called with each result as soon as it is known, unless it is nil.
	Done func(framework.Result)
	// Env are more variables for the suite, such as one that names another cluster.
	Env []string
	// Cluster returns such variables as well. It is called when everything is compiled, unless it is nil.
	Cluster func(context.Context) ([]string, error)
	// Step is called with what is done next, such as "compiling the operator", unless it is nil.
	Step func(what string)
}

// step says what is done next.
func (in CheckInput) step(what string) {
	if in.Step != nil {
		in.Step(what)
	}
}

// Check runs the suite of the chapter that the copy is for, against that copy, on a cluster of its own unless Env names one, and returns
// the results of its features. The error is a [*NotYetError] if one does not hold, and [ErrNotBuilt] if there was nothing to run.
func Check(ctx context.Context, in CheckInput) ([]framework.Result, error) {
	s, err := open(in)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tested, err := s.build(ctx, work)
	if err != nil {
		return nil, err
	}
	s.step("compiling the suite of " + s.chapter.Name)
	suite, err := runner.BuildSuite(ctx, in.Root, s.chapter.SuiteDirectory())
	if err != nil {
		return nil, err
	}
	if s.Cluster != nil {
		s.step("waiting for the cluster")
		cluster, err := s.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		tested = append(tested, cluster...)
	}
	s.step(fmt.Sprintf("running %d of %d features", len(s.chosen), len(s.features)))
	return s.check(ctx, suite, tested)
}

// check runs the suite with the variables that name what is tested, and prints what a learner needs to know.
func (s subject) check(ctx context.Context, suite string, tested []string) ([]framework.Result, error) {
	log, err := openLog(s.chapter.Name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	results, err := s.run(ctx, suite, log, tested)
	if ctx.Err() != nil {
		return results, errors.Join(err, os.Remove(log.Name()))
	}
	if err != nil {
		return results, fmt.Errorf("%w; output of the suite: %s", err, log.Name())
	}
	score := check.ScoreOf(results)
	printFailures(copyNamer{s.Out, s.Dir}, s.chapter, !s.broken, results)
	printSkipped(s.Out, results)
	if !s.broken || score.Full() { // or it would give away a fault in a generated file
		warnOfStale(ctx, s.Dir, s.Out)
	}
	if score.Full() {
		fmt.Fprintf(s.Out, "\n%s.\n", score)
		s.praise()
		return results, errors.Join(log.Close(), os.Remove(log.Name()))
	}
	fmt.Fprintf(s.Out, "\nOutput of the suite: %s\n", log.Name())
	return results, &NotYetError{Score: score}
}

// subject is what is checked.
type subject struct {
	CheckInput

	chapter  chapter.Chapter
	fault    Fault
	broken   bool     // the copy is for a break-it lab, fault
	features []string // of the suite
	chosen   []string // by Only
}

// open finds out what the copy is for.
func open(in CheckInput) (s subject, err error) {
	s.CheckInput = in
	if err := framework.CheckEnvironment(); err != nil {
		return s, err
	}
	if s.chapter, err = chapterOf(in.Root, in.Dir); err != nil {
		return s, err
	}
	if s.fault, s.broken, err = faultIn(in.Root, in.Dir); err != nil {
		return s, err
	}
	if s.features, err = check.Features(filepath.Join(in.Root, s.chapter.SuiteDirectory())); err != nil {
		return s, err
	}
	s.chosen, err = check.Only(in.Only, s.features)
	return s, err
}

// build compiles the operator, and returns the variables that name it and its manifests to the suite. It prints the output of a compiler
// that refuses it.
func (s subject) build(ctx context.Context, work string) ([]string, error) {
	if !slices.Contains(s.chapter.Runs, chapter.RunsNone) {
		s.step("compiling the operator")
	}
	tested, err := underTest(ctx, s.chapter, s.Dir, work)
	if err == nil && s.chapter.Tests != "" {
		s.step("compiling your tests")
		var tests []string
		tests, err = s.buildTests(ctx, work)
		tested = append(tested, tests...)
	}
	if refused := new(runner.CompileError); errors.As(err, &refused) && ctx.Err() == nil {
		fmt.Fprintln(s.Out, refused.Output)
		return nil, ErrNotBuilt
	}
	return tested, err
}

// buildTests compiles the learner's tests with the chapter's healthy operator, and all of its faults, and returns the variables that name them to
// the suite.
func (s subject) buildTests(ctx context.Context, work string) ([]string, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	faults, err := trial.Faults(s.Root, s.chapter)
	if err != nil {
		return nil, err
	}
	key, binary := trial.NewKey(), filepath.Join(work, "tests")
	files, err := trial.Files(ctx, s.Root, s.chapter, faults, key, Rewriter(s.Root, s.chapter).Replace)
	if err != nil {
		return nil, err
	}
	return key.Env(binary), trial.Build(ctx, dir, dir, s.chapter, files, binary)
}

// run runs the suite and prints a line for each feature.
func (s subject) run(ctx context.Context, suite string, log io.Writer, tested []string) ([]framework.Result, error) {
	in := check.Input{
		Suite: suite, Dir: filepath.Join(s.Root, s.chapter.SuiteDirectory()), Features: s.features, Only: s.Only,
		Args: []string{"-test.timeout=20m", "-test.parallel=" + parallel},
		Env:  slices.Concat([]string{"CLUSTER=embedded"}, tested, s.Env),
		Log:  log,
		Done: func(r framework.Result) {
			printResult(s.Out, s.chapter, r)
			if s.Done != nil {
				s.Done(r)
			}
		},
	}
	if s.chapter.Operator == "" { // the finished operator's suite waits for what takes Kubernetes longer
		in.Env = append(in.Env, patience()...)
		return check.Run(ctx, in)
	}
	// That suite takes minutes, so what the chapter is about comes first, and it stops after the first feature that does not hold.
	in.Args = append(in.Args, "-test.failfast")
	if gaps, ok, err := Gaps(s.Root, s.chapter); err != nil {
		return nil, err
	} else if ok && s.Only == "" {
		first := in
		first.Only = "^" + gaps.Test + "$"
		if results, err := check.Run(ctx, first); err != nil || !check.ScoreOf(results).Full() {
			fmt.Fprintf(s.Out, "\nThe other %d features are checked when this one holds.\n", len(s.features)-1)
			return results, err
		}
	}
	return check.Run(ctx, in)
}

// parallel is how many features are checked at once: enough that a wait of one costs the others nothing, and few enough that a small
// machine keeps up.
const parallel = "6"

// patience returns how long assertions wait, where the learner has not set it: less as soon as a feature has failed, because what make
// start gives fails many.
func patience() []string {
	return slices.DeleteFunc([]string{"TESTBED_TIMEOUT=10s", "TESTBED_TIMEOUT_FAILING=3s"}, func(setting string) bool {
		variable, _, _ := strings.Cut(setting, "=")
		return os.Getenv(variable) != ""
	})
}

// praise prints what a learner has learned, if all was checked, and otherwise that it was not.
func (s subject) praise() {
	switch {
	case s.Only != "":
		others := fmt.Sprintf("%d other features", len(s.features)-len(s.chosen))
		if len(s.features)-len(s.chosen) == 1 {
			others = "1 other feature"
		}
		fmt.Fprintf(s.Out, "ONLY skipped %s. Run the check without it to see whether you are done.\n", others)
	case s.broken:
		s.fault.printPoint(s.Out)
	default:
		fmt.Fprintf(s.Out, "Well done: this is what %s is about.\n", s.chapter.Name)
	}
}

// openLog makes a file for what a suite prints, beside the artifacts of its failures.
func openLog(stage string) (*os.File, error) {
	directory, err := home.Artifacts()
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(directory, "check-"+stage+"-*.log")
}

// warnOfStale prints which generated files do not fit the code any more.
func warnOfStale(ctx context.Context, dir string, out io.Writer) {
	files, err := stale(ctx, dir)
	switch {
	case err != nil:
		fmt.Fprintf(out, "\nGenerated files could not be compared with the code: %v\n", err)
	case len(files) > 0:
		fmt.Fprintf(out, "\nGenerated from older code: %s. Run make generate manifests DIR=%s.\n", strings.Join(files, ", "), quote(dir))
	}
}

// underTest returns the variables that name the copy in dir to a suite: its manifests, and the operator that it builds in the
// directory work, unless the chapter has none.
func underTest(ctx context.Context, c chapter.Chapter, dir, work string) ([]string, error) {
	runs := !slices.Contains(c.Runs, chapter.RunsNone)
	if runs {
		for _, needed := range []string{"cmd", "config/default"} {
			if _, err := os.Stat(filepath.Join(dir, needed)); err != nil {
				return nil, fmt.Errorf("%s has no directory %s yet: tutorial/%s/README.md says what belongs there", dir, needed, c.Name)
			}
		}
	}
	manifests, err := filepath.Abs(filepath.Join(dir, "config"))
	if err != nil || !runs {
		return []string{"MANIFESTS=" + manifests}, err
	}
	binary := filepath.Join(work, "operator")
	// It is the learner's own, whose Makefile runs with the same permissions.
	return []string{"MANIFESTS=" + manifests, "OPERATOR=" + binary, "TESTBED_CONFINE=no"}, runner.Build(ctx, dir, "./cmd", binary)
}
