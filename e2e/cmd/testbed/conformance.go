package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/demo"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/kind/home"
)

// conformanceFlags are what can be chosen about the operator that is checked.
type conformanceFlags struct {
	foreign  conformance.Foreign
	mapping  string
	sample   string
	points   []string
	all      bool
	patience time.Duration
	markdown bool
	// unconfined runs the operator with all permissions of the one who types.
	unconfined bool
}

func newConformance() *cobra.Command {
	var flags conformanceFlags
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Check any operator against the contract, point by point",
		Long: `conformance runs an operator on a cluster of its own, as a process with its own
ServiceAccount's permissions, and says of each point of the contract whether it holds.
The process is confined where the platform can do that, and has no environment variables
but those of its manifests.
A Memcached operator needs a mapping of its API for that. For any other one, a sample of
its custom resource is enough for the points that are about every operator.
Without flags it checks the operator of this repository. Out of an image it takes the
program, because nothing here could run a container.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if flags.mapping != "" && flags.sample != "" {
				return usageError{errors.New("--mapping and --sample exclude each other: a mapping is for a Memcached operator, a sample for any other one")}
			}
			return runConformance(command.Context(), flags)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.foreign.Operator, "operator", "", "the operator's executable or image, an archive or a reference (default: the one of this repository, built now)")
	set.StringVar(&flags.foreign.Manifests, "manifests", "", "directory of the kustomization, or file of the manifests, that installs it (default: operator/config/default)")
	set.StringSliceVar(&flags.foreign.CRDs, "crds", nil, "files or directories of other CustomResourceDefinitions that it needs, with commas between them")
	set.StringVar(&flags.mapping, "mapping", "", "file that says what its API calls what (default: e2e/conformance/mappings/operator-testbed.yaml)")
	set.StringVar(&flags.sample, "sample", "", "file of a custom resource, for the operator of any kind, in place of a mapping")
	set.StringArrayVar(&flags.foreign.Args, "arg", nil, "argument that comes behind the operator's own, such as --arg=--leader-elect=false; repeat it for more")
	set.StringArrayVar(&flags.foreign.Env, "env", nil, "variable that takes precedence over the operator's own, such as --env=NODE_NAME=node-1; repeat it for more")
	set.StringArrayVar(&flags.points, "point", nil, "claim to check, as the table prints it; repeat it for more (default: all but those that take long)")
	set.BoolVar(&flags.all, "all", false, "also check the points that take long, in up to five minutes")
	set.DurationVar(&flags.patience, "patience", 30*time.Second, "how long a claim may take to come true")
	set.BoolVar(&flags.unconfined, "unconfined", false, "run the operator with all your permissions: only for one that you trust")
	set.BoolVar(&flags.markdown, "markdown", false, "print the table in Markdown")
	return command
}

// errNotConformant is the end of a run in which a claim did not hold.
var errNotConformant = errors.New("not every point holds")

// errNothingServed is the end of a run in which the operator has not started, or serves no object.
var errNothingServed = errors.New("no object is served, so no point was tried")

func runConformance(ctx context.Context, flags conformanceFlags) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	checks, err := flags.read(root)
	if err != nil {
		return err
	}
	points, err := chosenPoints(checks.Points(), flags.points, flags.all)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	screen := demo.ScreenOn(os.Stderr)
	defer screen.Close()
	steps := newReport(screen).steps("Conformance")
	report, err := checkPoints(ctx, root, work, flags, points, steps)
	screen.Close()
	if err != nil {
		return afterStop(ctx, err, "nothing is left running, and what was built is kept")
	}
	if flags.markdown {
		fmt.Print(report.Markdown())
	} else {
		fmt.Print(report.Text())
	}
	holding, failing, untried := report.Count(framework.Holds), report.Count(framework.DoesNotHold), report.Count(framework.NotTried)
	fmt.Fprintf(os.Stderr, "%d of %d points hold\n", holding, holding+failing+untried)
	if failing+untried > 0 {
		return errNotConformant
	}
	return nil
}

// chosenPoints returns the points with those claims or, if there is no claim, all of them. Without slow, those that take long are left out.
func chosenPoints(points []conformance.Point, claims []string, slow bool) ([]conformance.Point, error) {
	if len(claims) == 0 {
		return slices.DeleteFunc(slices.Clone(points), func(p conformance.Point) bool { return p.Slow && !slow }), nil
	}
	var chosen []conformance.Point
	for _, claim := range claims {
		i := slices.IndexFunc(points, func(p conformance.Point) bool { return p.Claim == claim })
		if i < 0 {
			return nil, usageError{fmt.Errorf("there is no point %q: use a claim from the table in docs/reference/contract.md, such as %q", claim, points[0].Claim)}
		}
		chosen = append(chosen, points[i])
	}
	return chosen, nil
}

// pattern returns the argument of -test.run for points, and for the gate, which comes before them. The test of a claim has underscores in
// place of blanks.
func pattern(points []conformance.Point) string {
	names := []string{conformance.Gate}
	for _, p := range points {
		names = append(names, p.Claim)
	}
	for i, name := range names {
		names[i] = regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_"))
	}
	return "^TestPoints$/^(gate|points|last)$/^(" + strings.Join(names, "|") + ")$"
}

// read reads the sample or the mapping. It makes its path absolute, and adds what the mapping says of how to run the operator.
func (f *conformanceFlags) read(root string) (checks conformance.Checks, err error) {
	if f.sample != "" {
		if checks.Operator, err = conformance.ReadSample(f.sample); err == nil {
			f.sample, err = filepath.Abs(f.sample)
		}
		return checks, err
	}
	f.mapping = cmp.Or(f.mapping, filepath.Join(root, "e2e", "conformance", "mappings", "operator-testbed.yaml"))
	mapping, err := conformance.ReadMapping(f.mapping)
	if err != nil {
		return checks, err
	}
	f.foreign.Args, f.foreign.Env = slices.Concat(mapping.Args, f.foreign.Args), slices.Concat(mapping.Env, f.foreign.Env)
	f.mapping, err = filepath.Abs(f.mapping)
	return conformance.Checks{Operator: mapping}, err
}

// checkPoints runs the suite with the operator that was named, or with the one of the clone at root. It writes a line for each step.
func checkPoints(ctx context.Context, root, work string, flags conformanceFlags, points []conformance.Point, steps io.Writer) (conformance.Report, error) {
	foreign := flags.foreign
	foreign.Manifests = cmp.Or(foreign.Manifests, filepath.Join(root, "operator", "config", "default"))
	if foreign.Operator == "" {
		program, err := operator.Build(ctx, root, operator.Finished)
		if err != nil {
			return nil, err
		}
		foreign.Operator = program.Binary
	} else {
		fmt.Fprintf(steps, "looking at the operator %s\n", foreign.Operator)
	}
	prepared, err := foreign.Prepare(ctx, work)
	if err != nil {
		return nil, err
	}
	for _, note := range prepared.Notes {
		fmt.Fprintln(steps, note)
	}
	confine, note, err := confined(flags.unconfined)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(steps, note)
	if _, err := embedded.Assets(ctx, os.Stderr); err != nil {
		return nil, err
	}
	fmt.Fprintln(steps, "compiling the suite")
	suite, err := runner.BuildSuite(ctx, root, "e2e/conformance")
	if err != nil {
		return nil, err
	}
	return runPoints(ctx, filepath.Join(root, "e2e", "conformance"), suite, points, steps,
		"OPERATOR="+prepared.Binary, "TESTBED_CONFINE="+confine, "MANIFESTS="+prepared.Manifests, "MAPPING="+flags.mapping, "SAMPLE="+flags.sample,
		"TESTBED_TIMEOUT="+flags.patience.String())
}

// confined returns how the suite confines the operator, as $TESTBED_CONFINE takes it, and a sentence that says so.
func confined(unconfined bool) (value, note string, err error) {
	if unconfined {
		return "no", "the operator runs unconfined, with all your permissions, as --unconfined says", nil
	}
	text, err := json.Marshal(runner.Confinement{Optional: true, DeclaredPorts: true})
	if err != nil {
		return "", "", err
	}
	walls, err := confinement.Supported()
	if err != nil {
		return string(text), fmt.Sprintf("the operator runs UNCONFINED, with all your permissions: %v", err), nil
	}
	return string(text), fmt.Sprintf("the operator runs confined by %s: it reaches neither your files nor the network, except for the API server", walls), nil
}

// parallel is how many points are checked at once: enough that a wait of one costs the others nothing, and few enough that a
// small machine keeps up.
const parallel = "6"

// runPoints runs the suite's test binary, and writes a line for each point when it has been checked.
//
// If no point could be tried, the evidence stays where failures are kept, because the error names it.
func runPoints(ctx context.Context, dir, suite string, points []conformance.Point, steps io.Writer, env ...string) (_ conformance.Report, returned error) {
	artifacts, err := home.Artifacts()
	if err != nil {
		return nil, err
	}
	if os.Getenv("TESTBED_ARTIFACTS") == "" {
		if artifacts, err = os.MkdirTemp(artifacts, "conformance-"); err != nil {
			return nil, err
		}
		defer func() {
			if !errors.Is(returned, errNothingServed) {
				returned = errors.Join(returned, os.RemoveAll(artifacts))
			}
		}()
	}
	lines, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	command := exec.CommandContext(ctx, suite, "-test.run="+pattern(points), "-test.timeout=0", "-test.parallel="+parallel)
	command.Dir = dir
	command.Stderr = steps
	command.ExtraFiles = []*os.File{out}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	// Its report is the pipe, which it does not pass on to the operator. What it says last is where the evidence of failed points is, of which the report says enough.
	command.Env = slices.Concat(os.Environ(), env, []string{"CLUSTER=" + embedded.Kind, summary.Variable + "=all", "TESTBED_ARTIFACTS=" + artifacts, "TESTBED_REPORT=fd:3", "TESTBED_FAILURES=" + os.DevNull})
	err = command.Start()
	out.Close()
	if err != nil {
		return nil, err
	}
	results, gate, reportErr := readResults(lines, func(n int, r framework.Result) {
		fmt.Fprintf(steps, "%d of %d: %s: %s\n", n, len(points), r.Feature, r.Outcome)
	})
	if reportErr != nil {
		_ = command.Cancel()
		_, _ = io.Copy(io.Discard, lines) // or the suite would wait for a reader
	}
	err = command.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if reportErr != nil {
		return nil, fmt.Errorf("read the suite's report: %w", reportErr)
	}
	if gate.Outcome == framework.DoesNotHold {
		return nil, fmt.Errorf("%w: %s", errNothingServed, gate.Message)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the suite ended before the first point: %w", err)
	}
	return conformance.NewReport(points, results), nil
}

// readResults reads the results of points from the suite's report, and calls done with each and its number. gate is the result of what
// comes before the points. A report with several results for one test is an error.
func readResults(report io.Reader, done func(int, framework.Result)) (results []framework.Result, gate framework.Result, err error) {
	seen := map[string]bool{}
	for decoder := json.NewDecoder(report); ; {
		var result framework.Result
		switch err := decoder.Decode(&result); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the suite was ended
			return results, gate, nil
		case err != nil:
			return results, gate, err
		case seen[result.Test]:
			return results, gate, fmt.Errorf("it has more than one result for %s", result.Test)
		}
		seen[result.Test] = true
		if result.Feature == conformance.Gate || result.Feature == framework.StartOfOperator {
			gate = result
			continue
		}
		results = append(results, result)
		done(len(results), result)
	}
}
