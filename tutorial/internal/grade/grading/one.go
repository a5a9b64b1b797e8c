package grading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/e2e/framework/report"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/build"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// Cell is what stands between a submission and the grader.
type Cell interface {
	Run(ctx context.Context, c isolation.Command) (isolation.Usage, error)
	// Isolation names the walls.
	Isolation() (outer, inner string)
	// Confines reports whether the suite confines the operator.
	Confines() bool
}

// Grader grades submissions of one assignment.
type Grader struct {
	Chapter *Chapter
	Cell    Cell
	// Commit names the grader.
	Commit string
	// Progress is called with the number of features of a run that have a result, each time when one more has. It may be nil.
	Progress func(results int)

	// compiled says that Go's cache has what the solution is compiled of. A submission is compiled with it, and can't add to it.
	compiled bool
	mu       sync.Mutex
}

// Input is one submission.
type Input struct {
	// Student is the student's id, or empty.
	Student string
	// Dir is the submission. Nothing is written to it.
	Dir string
	// Seed is the text from which names, sizes and ports are drawn.
	Seed string
	// Points is the highest score of a feature; nil means 1 for each.
	Points func(test string) float64
	// Log is a file that gets what the suites print, and LogName its name in the result. Both may be empty.
	Log, LogName string
}

// What a submission may use.
const (
	buildTimeout = 5 * time.Minute
	// solutionTimeout is how long the solution may take to compile, if this machine has compiled nothing yet.
	solutionTimeout = 20 * time.Minute
	renderTimeout   = time.Minute
	// suiteMemory is what a cluster, the suite and the operators use together. It is measured ten times a second, so the kernel keeps
	// operatorMemory, of each operator alone: a cluster takes about half of a gibibyte, and a chapter runs two operators at most, so no
	// operator gets above the limit of all between two measurements.
	suiteMemory    = 3 << 29
	operatorMemory = 3 << 27
	// operatorFile is how large a file of an operator's can get: its log, which suites read as a whole.
	operatorFile = 32 << 20
	suiteTasks   = 1024
	suiteFile    = 1 << 30
	// suiteScratch is how much the cluster, the suite and the operators may write to files, all of which are in memory and of no use
	// once the suite has ended.
	suiteScratch = 1 << 30
	suiteOutput  = 4 << 20
	// slowest and more times what the solution took is how long a run of the suites may take: features that fail wait for what does not
	// come, and each of them as long as an assertion does.
	slowest, more = 5 * time.Minute, 10
	// uncalibrated stands in for what the solution took while it is the solution that runs, on a machine that may be busy.
	uncalibrated = 2 * time.Minute
	// assertion is how long an assertion waits at least, as for learners.
	assertion = 10 * time.Second
	// afterFailure is how long one waits in the features that start after one has failed. Otherwise a submission that does nothing takes
	// minutes.
	afterFailure = assertion / 2
	// atOnce is how many features run side by side, however many cores the machine has.
	atOnce = 4
)

// One grades a submission, given what the solution reaches: see [Grader.Calibrate]. The result says what became of it, also where the
// error says that the grader has failed.
func (g *Grader) One(ctx context.Context, c Calibration, in Input) (grade.Result, error) {
	if err := g.compileSolution(ctx); err != nil {
		r := g.result(in)
		r.Status, r.Message = grade.GraderError, err.Error()
		return r, err
	}
	began := time.Now()
	run := &attempt{grader: g, input: in, plan: c.Tests, took: time.Duration(c.TookMS) * time.Millisecond}
	r, err := run.grade(ctx)
	r.Volatile = grade.Volatile{
		GradedAt: time.Now().UTC().Truncate(time.Second), TookMS: time.Since(began).Milliseconds(), CPUMS: run.usage.CPU.Milliseconds(),
		MemoryBytes: run.usage.Memory, Attempts: run.attempts, Log: in.LogName,
	}
	return r, err
}

// Calibrate grades the chapter's own solution. It must hold in all features, or nobody can be graded.
func (g *Grader) Calibrate(ctx context.Context, log string) (Calibration, error) {
	if err := g.compileSolution(ctx); err != nil {
		return Calibration{}, err
	}
	run := &attempt{grader: g, took: uncalibrated, input: Input{Dir: g.Chapter.Solution, Seed: "calibration", Log: log}}
	r, err := run.grade(ctx)
	if err != nil {
		return Calibration{}, fmt.Errorf("grade the solution of %s: %w", g.Chapter.Stage, err)
	}
	if r.Status != grade.Graded {
		return Calibration{}, fmt.Errorf("the solution of %s can't be graded here, so nobody is: %s", g.Chapter.Stage, r.Message)
	}
	if len(r.Tests) == 0 {
		return Calibration{}, fmt.Errorf("the suite of %s has reported no feature, so nobody is graded: see %s", g.Chapter.Stage, log)
	}
	c := Calibration{Tests: r.Tests, TookMS: run.suites.Milliseconds()}
	for i, t := range c.Tests {
		if t.Status == grade.Fail {
			return Calibration{}, fmt.Errorf("the solution of %s fails in %s here, so nobody is graded: %s", g.Chapter.Stage, t.Name, t.Message)
		}
		c.Tests[i].Score, c.Tests[i].Flaky = t.MaxScore, false
	}
	return c, nil
}

// compileSolution compiles the solution, once, so that Go's cache has what submissions are compiled of.
func (g *Grader) compileSolution(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.compiled || !g.Chapter.runs {
		return nil
	}
	work, err := os.MkdirTemp("", "grade-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	trusted := build.Options{
		Toolchain: g.Chapter.toolchain, Source: g.Chapter.Solution, Work: filepath.Join(work, "build"), Timeout: solutionTimeout, Trusted: true,
	}
	_, _, err = build.Build(ctx, g.Cell, trusted)
	if err == nil && g.Chapter.tested != nil {
		trusted.Work = filepath.Join(work, "tests")
		_, _, _, err = g.Chapter.tested.build(ctx, g.Cell, trusted)
	}
	if err != nil {
		return fmt.Errorf("compile the solution of %s: %w", g.Chapter.Stage, err)
	}
	g.compiled = true
	return nil
}

// attempt is the grading of one submission.
type attempt struct {
	grader   *Grader
	input    Input
	plan     []grade.Test  // nil for the solution
	took     time.Duration // by the solution
	usage    isolation.Usage
	attempts int           // runs of the chapter's suite
	suites   time.Duration // that the first runs took
}

// grade returns the result without what is volatile.
func (a *attempt) grade(ctx context.Context) (grade.Result, error) {
	g, in := a.grader, a.input
	r := g.result(in)
	fail := func(err error) (grade.Result, error) {
		r.Status, r.Message, r.Tests, r.Score, r.MaxScore = grade.GraderError, err.Error(), []grade.Test{}, 0, 0
		return r, err
	}
	work, err := os.MkdirTemp("", "grade-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(work)
	tests, err := a.tests(ctx, work, &r)
	var broken build.RefusedError
	var forbidden manifests.RefusedError
	var unfit *submission.RefusedError
	switch {
	case errors.As(err, &broken), errors.As(err, &forbidden), errors.As(err, &unfit):
		r.Message = plain(err.Error(), g.Chapter.suites[0].name, work, in.Dir)
		r.Status, r.Tests = grade.NotGradable, refused(a.plan, in.points())
	case err != nil:
		return fail(err)
	default:
		r.Status, r.Tests = grade.Graded, tests
	}
	r.Score, r.MaxScore = score(r.Tests)
	return r, nil
}

// result returns a result of which only the outcome is missing.
func (g *Grader) result(in Input) grade.Result {
	r := grade.Result{
		Schema: grade.Schema, Student: in.Student, Stage: g.Chapter.Stage, Lab: g.Chapter.Lab, Grader: g.Commit, Seed: in.Seed, Tests: []grade.Test{},
	}
	r.Isolation.Outer, r.Isolation.Inner = g.Cell.Isolation()
	return r
}

// Refused returns the result of a submission that was refused when it was collected, for that reason.
func (g *Grader) Refused(c Calibration, in Input, reason string) grade.Result {
	r := g.result(in)
	r.Status, r.Message, r.Tests = grade.NotGradable, reason, refused(c.Tests, in.points())
	r.Score, r.MaxScore = score(r.Tests)
	r.Volatile.GradedAt = time.Now().UTC().Truncate(time.Second)
	return r
}

func (in Input) points() func(string) float64 {
	if in.Points != nil {
		return in.Points
	}
	return func(string) float64 { return 1 }
}

// tests builds the submission and runs the suites.
func (a *attempt) tests(ctx context.Context, work string, r *grade.Result) ([]grade.Test, error) {
	g, dir := a.grader, filepath.Join(work, "submission")
	if err := submission.Copy(g.Chapter.Root, a.input.Dir, dir); err != nil {
		return nil, err
	}
	var err error
	if r.Submission, err = submission.Hash(dir); err != nil {
		return nil, err
	}
	env, readable, err := a.underTest(ctx, dir, work)
	if err != nil {
		return nil, err
	}
	var tests []grade.Test
	for _, s := range g.Chapter.suites {
		own, err := a.runSuite(ctx, s, work, env, readable)
		if err != nil {
			return nil, err
		}
		tests = append(tests, own...)
	}
	return tests, nil
}

// underTest returns the variables that name the submission in dir to a suite, and what of it the suite has to read: its manifests, and
// the operator that is compiled here.
func (a *attempt) underTest(ctx context.Context, dir, work string) (env, readable []string, err error) {
	g, config := a.grader, filepath.Join(dir, "config")
	if err := os.MkdirAll(config, 0o755); err != nil { // which an operator may lack
		return nil, nil, err
	}
	env, readable = []string{"MANIFESTS=" + config}, []string{config}
	if err := needsManifests(config, g.Chapter.runs); err != nil {
		return nil, nil, err
	}
	rendered, err := manifests.RenderIn(ctx, g.Cell, config, isolation.Limits{Time: renderTimeout, Memory: 1 << 30})
	if err == nil {
		err = manifests.Judge(rendered, g.Chapter.allowed)
	}
	if err != nil || !g.Chapter.runs {
		return env, readable, err
	}
	binary, usage, err := build.Build(ctx, g.Cell, build.Options{
		Toolchain: g.Chapter.toolchain, Source: dir, Work: filepath.Join(work, "build"), Timeout: buildTimeout,
	})
	a.add(usage)
	env, readable = append(env, "OPERATOR="+binary), append(readable, binary)
	if err != nil || g.Chapter.tested == nil {
		return env, readable, err
	}
	tests, key, usage, err := g.Chapter.tested.build(ctx, g.Cell, build.Options{
		Toolchain: g.Chapter.toolchain, Source: dir, Work: filepath.Join(work, "tests"), Timeout: buildTimeout,
	})
	a.add(usage)
	return append(env, key.Env(tests)...), append(readable, tests), err
}

func (a *attempt) add(u isolation.Usage) {
	a.usage.CPU += u.CPU
	a.usage.Memory = max(a.usage.Memory, u.Memory)
}

// runSuite runs a suite, and what fails again, alone. A cluster that does not start is the grader's fault, and tried again once.
func (a *attempt) runSuite(ctx context.Context, s suite, work string, env, readable []string) ([]grade.Test, error) {
	c := a.grader.Chapter
	began := time.Now()
	first, err := a.runOnce(ctx, s, work, env, readable, nil)
	if err == nil && clusterFailed(first) {
		first, err = a.runOnce(ctx, s, work, env, readable, nil)
	}
	if err != nil {
		return nil, err
	}
	a.suites += time.Since(began)
	if clusterFailed(first) {
		reason := first.Start.Reason
		if strings.Contains(reason, "CRD") || strings.Contains(reason, "CustomResourceDefinition") { // which are the student's
			return nil, manifests.RefusedError("no cluster accepts the CustomResourceDefinitions: " + reason)
		}
		return nil, fmt.Errorf("the cluster did not start: %s", reason)
	}
	if first.Start == nil && len(first.Results) == 0 && len(a.plan) == 0 {
		return nil, fmt.Errorf("the suite has reported nothing: see %s", a.input.Log)
	}
	o := outcomes{plan: a.plan, points: a.input.points(), extra: s.extra, claims: c.claims, plain: func(message string) string {
		return plain(message, s.name, work, a.input.Dir, c.Work, c.Root)
	}}
	tests := o.tests(first, nil)
	names := failed(tests)
	if len(names) == 0 {
		return tests, nil
	}
	again, err := a.runOnce(ctx, s, work, env, readable, names)
	if err != nil {
		return nil, err
	}
	return o.tests(first, again), nil
}

// runOnce runs a suite in the cell: all features of it, or only some, one after the other.
func (a *attempt) runOnce(ctx context.Context, s suite, work string, env, readable []string, only []string) (*report.Report, error) {
	g := a.grader
	a.attempts++
	run, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return nil, err
	}
	log := io.Discard
	if a.input.Log != "" {
		file, err := os.OpenFile(a.input.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		log = file
	}
	limits := isolation.Limits{
		Time:   slowest + more*a.took,
		Memory: suiteMemory, Processes: suiteTasks, FileSize: suiteFile, Scratch: suiteScratch, Output: suiteOutput,
	}
	variables := []string{
		"CLUSTER=embedded", "HOME=" + run, "TMPDIR=" + run, "PATH=/usr/bin:/bin",
		"TESTBED_ASSETS=" + g.Chapter.assets, "TESTBED_CACHE=" + g.Chapter.cache, "TESTBED_STATE=" + run, "TESTBED_ARTIFACTS=" + run,
		"TESTBED_REPORT=fd:" + strconv.Itoa(isolation.ReportDescriptor), "TESTBED_SEED=" + strconv.FormatUint(SeedOf(a.input.Seed), 10), "TESTBED_TIMEOUT=" + assertion.String(),
		"TESTBED_TIMEOUT_FAILING=" + afterFailure.String(), "TESTBED_GO=no",
	}
	confine, err := confinement(g.Cell.Confines())
	if err != nil {
		return nil, err
	}
	variables = append(variables, confine)
	args := []string{s.binary, "-test.timeout=0", "-test.parallel=" + strconv.Itoa(atOnce)}
	if only != nil {
		args = []string{s.binary, "-test.timeout=0", "-test.parallel=1", "-test.run=^(" + strings.Join(only, "|") + ")$"}
	}
	reported := newReport(g.Progress)
	usage, err := g.Cell.Run(ctx, isolation.Command{
		Args: args, Dir: s.directory, Env: append(variables, env...), Stdout: log, Stderr: log, Report: reported,
		Readable: slices.Concat([]string{s.binary, g.Chapter.assets}, g.Chapter.sources, readable), Scratch: []string{run},
		Limits: limits,
	})
	a.add(usage)
	if err != nil {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	if usage.Exceeded != "" {
		fmt.Fprintf(log, "The suite was ended, because it exceeded the limit of %s.\n", usage.Exceeded)
	}
	return reported, nil
}

// confinement returns the variable that has the suite confine the operator, or trust it where there is no inner wall.
func confinement(confines bool) (string, error) {
	const variable = "TESTBED_CONFINE="
	if !confines {
		return variable + "no", nil
	}
	limits, err := json.Marshal(runner.Confinement{Memory: operatorMemory, FileSize: operatorFile})
	return variable + string(limits), err
}
