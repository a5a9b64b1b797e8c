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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/demo"
	"github.com/example/operator-testbed/e2e/framework"
	suitereport "github.com/example/operator-testbed/e2e/framework/report"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/e2e/tier/summary"
)

// conformanceFlags are what can be chosen about the operator that is checked.
type conformanceFlags struct {
	foreign conformance.Foreign
	// from is the version before.
	from    conformance.Version
	config  string
	mapping string
	// sample and companions replace the samples of a configuration.
	sample     string
	companions []string
	// directory is the one that the operator starts in.
	directory string
	// kubernetes is the version of Kubernetes that the cluster runs.
	kubernetes string
	points     []string
	all        bool
	patience   time.Duration
	markdown   bool
	reports    []string
	// cluster is "embedded", or "kind", where the operator runs in a pod.
	cluster string
	// load are archives of other images that the nodes get.
	load []string
	// unconfined runs the operator with all permissions of the one who types.
	unconfined bool
}

// inPods reports whether the operator runs as an image in a pod.
func (f *conformanceFlags) inPods() bool { return f.cluster == kind.Kind }

// timeout is how long to wait for a point to hold. Pods that really run need longer.
func (f *conformanceFlags) timeout() time.Duration {
	if f.inPods() {
		return cmp.Or(f.patience, 2*time.Minute)
	}
	return cmp.Or(f.patience, 30*time.Second)
}

// checkCluster returns an error if the cluster does not exist, or if other flags are for another cluster.
func (f *conformanceFlags) checkCluster() error {
	switch {
	case !slices.Contains(conformance.Clusters, f.cluster):
		return usageError{fmt.Errorf("there is no --cluster=%s: use one of %s", f.cluster, strings.Join(conformance.Clusters, ", "))}
	case f.inPods() && f.unconfined:
		return usageError{errors.New("--unconfined is for a process: on a kind cluster, the operator runs in a pod")}
	case f.inPods() && f.directory != "":
		return usageError{errors.New("a working directory is for a process: on a kind cluster, the operator has the files of its image")}
	case f.inPods() && cmp.Or(f.kubernetes, embedded.Version) != embedded.Version:
		return usageError{fmt.Errorf("a kind cluster has one version of Kubernetes: leave --kubernetes=%s out, or use an embedded cluster", semver.MajorMinor(f.kubernetes))}
	case !f.inPods() && len(f.load) > 0:
		return usageError{errors.New("images can be loaded only onto the nodes of a kind cluster: add --cluster=kind, or leave load out")}
	}
	return nil
}

func newConformance(g *global) *cobra.Command {
	var flags conformanceFlags
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Check any operator against the contract, point by point",
		Long: `conformance runs an operator on a cluster of its own, as a process with its own
ServiceAccount's permissions, and says of each point of the contract whether it holds.
The process is confined where the platform can do that, and has no environment variables
but those of its manifests.
Which operator it is, and which points are known not to hold, is in conformance.yaml in
the working directory, or in the file that --config names. Other flags prevail over the
file. A sample of the operator's custom resource is enough for the points that are about
every operator. For a Memcached operator, a mapping of its API is needed instead.
In a clone of the testbed, without such a file and without flags, it checks the operator
there. Out of an image it takes the program, because nothing here could run a container.
With --cluster=kind, the image runs in a pod of a kind cluster instead, so it may contain
anything.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if flags.mapping != "" && flags.sample != "" {
				return usageError{errors.New("--mapping and --sample exclude each other: a mapping is for a Memcached operator, a sample for any other one")}
			}
			if len(flags.companions) > 0 && flags.sample == "" {
				return usageError{errors.New("--companions needs --sample, which refers to them")}
			}
			if flags.from.Manifests != "" && flags.from.Image == "" {
				return usageError{errors.New("--from-manifests needs --from, the executable or image that they install")}
			}
			if flags.mapping != "" && flags.from.Image != "" {
				return usageError{errors.New("--from needs a sample: the point about an upgrade is not one of those for a mapping")}
			}
			for _, file := range flags.reports {
				if err := conformance.CheckFormat(file); err != nil {
					return usageError{err}
				}
			}
			flags.kubernetes = g.kubernetes()
			return runConformance(command.Context(), flags)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.config, "config", "", "file with the operator to check, and the points that are known not to hold (default: conformance.yaml, if it exists)")
	set.StringVar(&flags.foreign.Operator, "operator", "", "the operator's executable or image, an archive or a reference (default: the one of this repository, built now)")
	set.StringVar(&flags.foreign.Manifests, "manifests", "", "kustomization directory, or manifests file, that installs it (default: operator/config/default)")
	set.StringVar(&flags.from.Image, "from", "", "executable or image of the previous version, for the point about an upgrade and the way back")
	set.StringVar(&flags.from.Manifests, "from-manifests", "", "manifests of the previous version (default: the same as --manifests)")
	set.StringVar(&flags.cluster, "cluster", "", "cluster to use: embedded, or kind, where the operator's image runs in a pod (default: embedded)")
	set.StringSliceVar(&flags.load, "load", nil, "archives of other images to load onto the nodes of a kind cluster, separated by commas")
	set.StringSliceVar(&flags.foreign.CRDs, "crds", nil, "files or directories of other CustomResourceDefinitions that it needs, separated by commas")
	set.StringVar(&flags.mapping, "mapping", "", "file that maps the names in its API (default: e2e/conformance/mappings/operator-testbed.yaml)")
	set.StringVar(&flags.sample, "sample", "", "file of a custom resource, for any operator, instead of a mapping")
	set.StringSliceVar(&flags.companions, "companions", nil, "files of objects that the sample refers to, separated by commas")
	set.StringVar(&flags.directory, "directory", "", "working directory of the operator, whose files it may read (default: an empty directory)")
	set.StringArrayVar(&flags.foreign.Args, "arg", nil, "additional argument of the operator, such as --arg=--leader-elect=false; can be repeated")
	set.StringArrayVar(&flags.foreign.Env, "env", nil, "environment variable that takes precedence over those of the manifests, such as --env=NODE_NAME=node-1; can be repeated")
	set.StringArrayVar(&flags.points, "point", nil, "point to check, as in the table; can be repeated (default: all points except those that take long)")
	set.BoolVar(&flags.all, "all", false, "also check the points that take long, up to five minutes")
	set.DurationVar(&flags.patience, "patience", 0, "how long to wait for a point to hold (default: 30s, or 2m on a kind cluster)")
	set.BoolVar(&flags.unconfined, "unconfined", false, "run the operator with all your permissions; only for operators that you trust")
	set.BoolVar(&flags.markdown, "markdown", false, "print the table in Markdown")
	set.StringArrayVar(&flags.reports, "report", nil, "file for the report: .html, .jsonl, .md, .txt or .xml (JUnit); can be repeated")
	return command
}

// errNotConformant is the end of a run in which a claim did not hold.
var errNotConformant = errors.New("not every point holds")

// errNothingServed is the end of a run in which the operator has not started, or serves no object.
var errNothingServed = errors.New("no object is served, so no point was tried")

func runConformance(ctx context.Context, flags conformanceFlags) error {
	known, runs, err := flags.read()
	if err != nil {
		return err
	}
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	directory, err := os.Getwd()
	if err == nil {
		err = checkNamed(root, directory, runs[0])
	}
	if err != nil {
		return err
	}
	for i := range runs {
		if err := runs[i].load(root, flags); err != nil {
			return err
		}
	}
	if err := conformance.CheckKnown(known, runs[0].all); err != nil {
		return fmt.Errorf("read the configuration %s: %w", flags.config, err)
	}
	screen := demo.ScreenOn(os.Stderr)
	defer screen.Close()
	steps := newReport(screen).steps("Conformance")
	report, err := checkRuns(ctx, root, flags, runs, steps)
	screen.Close()
	if err != nil {
		return interrupt.Explain(ctx, err, "nothing is left running, and what was built is kept")
	}
	surprises, unlisted := report.Expect(known)
	if flags.markdown {
		fmt.Print(report.Markdown())
	} else {
		fmt.Print(report.Text())
	}
	if err := writeReports(report, flags.reports); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, report.Summary())
	switch {
	case len(surprises) == 0:
		return nil
	case flags.config == "":
		return errNotConformant
	default:
		return errUnexpected(flags.config, surprises, unlisted)
	}
}

// errUnexpected is the end of a run whose outcomes differ from those that the configuration lists. It contains the entries to add to it.
func errUnexpected(config string, surprises []string, unlisted []conformance.Known) error {
	if len(unlisted) > 0 {
		entries, err := yaml.Marshal(unlisted)
		if err != nil {
			return err
		}
		surprises = append(surprises, "to accept what is new, add it to known in that file, with a reason:\n"+strings.TrimSuffix(string(entries), "\n"))
	}
	return fmt.Errorf("the outcomes differ from those that %s lists:\n%s", config, strings.Join(surprises, "\n"))
}

// writeReports writes the report to files.
func writeReports(report conformance.Report, files []string) error {
	for _, file := range files {
		content, err := report.Render(file)
		if err == nil {
			err = os.WriteFile(file, content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// conformanceRun is one run of the suite: of an operator with one sample or a mapping.
type conformanceRun struct {
	foreign conformance.Foreign
	// before is the version before, or names no operator.
	before conformance.Foreign
	// sample has no file if the operator is given by a mapping.
	sample  conformance.SampleFile
	mapping string
	// all are its points, and chosen those to check.
	all, chosen []conformance.Point
	// labeled says that there are several runs, so the report names the sample.
	labeled bool
}

// read reads the configuration, if there is one, and returns what is known and what to run. Flags prevail over the file.
func (f *conformanceFlags) read() (known []conformance.Known, runs []conformanceRun, err error) {
	if f.config == "" {
		if _, err := os.Stat(conformance.ConfigFile); err == nil {
			f.config = conformance.ConfigFile
		}
	}
	var config conformance.Config
	if f.config != "" {
		if config, err = conformance.ReadConfig(f.config); err != nil {
			return nil, nil, err
		}
	}
	f.cluster = cmp.Or(f.cluster, config.Cluster, conformance.Clusters[0])
	if len(f.load) == 0 {
		f.load = config.Load
	}
	run := conformanceRun{foreign: f.foreign, mapping: f.mapping}
	run.foreign.InPods = f.inPods()
	run.foreign.Operator = cmp.Or(f.foreign.Operator, config.OperatorFile())
	run.foreign.Manifests = cmp.Or(f.foreign.Manifests, config.Manifests)
	f.directory = cmp.Or(f.directory, config.Directory)
	if err := f.checkCluster(); err != nil {
		return nil, nil, err
	}
	if f.directory != "" {
		if f.unconfined {
			return nil, nil, usageError{errors.New("--unconfined does not change the operator's directory: give an executable that does so itself, or leave out the directory")}
		}
		if f.directory, err = filepath.Abs(f.directory); err != nil {
			return nil, nil, err
		}
		if info, err := os.Stat(f.directory); err != nil || !info.IsDir() {
			return nil, nil, fmt.Errorf("there is no directory %s: name the one that the operator starts in", f.directory)
		}
	}
	if len(f.foreign.CRDs) == 0 {
		run.foreign.CRDs = config.CRDs
	}
	before := config.From
	if f.from.OperatorFile() != "" {
		before = f.from
	}
	samples := config.Samples
	switch {
	case f.mapping != "":
		samples = nil
	case f.sample != "":
		sample := conformance.SampleFile{File: f.sample, Companions: f.companions, Name: f.sample}
		samples = []conformance.SampleFile{sample}
	case config.HasMapping():
		run.mapping = f.config
	}
	if f.config == "" || run.mapping != f.config { // or the mapping adds them
		run.foreign.Args, run.foreign.Env = slices.Concat(config.Args, f.foreign.Args), slices.Concat(config.Env, f.foreign.Env)
	}
	if before.OperatorFile() != "" {
		run.before = run.foreign
		run.before.Operator, run.before.Manifests = before.OperatorFile(), cmp.Or(before.Manifests, run.foreign.Manifests)
	}
	if f.config != "" {
		if err := complete(f.config, run, samples); err != nil {
			return nil, nil, err
		}
	}
	if len(samples) == 0 {
		return config.Known, []conformanceRun{run}, nil
	}
	for _, sample := range samples {
		run.sample, run.labeled = sample, len(samples) > 1
		runs = append(runs, run)
	}
	return config.Known, runs, nil
}

// complete returns an error if the configuration and the flags together do not say what to check.
func complete(config string, run conformanceRun, samples []conformance.SampleFile) error {
	switch {
	case run.foreign.Operator == "":
		return fmt.Errorf("%s names no operator: add executable or image, or use --operator", config)
	case run.foreign.Manifests == "":
		return fmt.Errorf("%s names no manifests: add the file or directory that installs the operator, or use --manifests", config)
	case run.mapping == "" && len(samples) == 0:
		return fmt.Errorf("%s names no samples: add the file of a custom resource that the operator serves, or use --sample", config)
	}
	return nil
}

// checkNamed returns an error if nothing names an operator, and the directory is not in the repository at root, where that means its own
// operator.
func checkNamed(root, directory string, run conformanceRun) error {
	if run.foreign.Operator != "" {
		return nil
	}
	for _, path := range []*string{&root, &directory} {
		resolved, err := filepath.EvalSymlinks(*path)
		if err != nil {
			return err
		}
		*path = resolved
	}
	if relative, err := filepath.Rel(root, directory); err != nil || !filepath.IsLocal(relative) {
		return usageError{fmt.Errorf("there is no %s in %s, and no flag names an operator: write the file, or use --operator, --manifests and --sample", conformance.ConfigFile, directory)}
	}
	return nil
}

// load reads the sample or the mapping, and adds what the mapping says of how to run the operator. root is where our own mapping is.
func (r *conformanceRun) load(root string, flags conformanceFlags) (err error) {
	var checks conformance.Checks
	if r.sample.File != "" {
		if r.foreign.Sample, err = conformance.ReadSample(r.sample.File, r.sample.Companions...); err != nil {
			return err
		}
		r.before.Sample, checks.Operator = r.foreign.Sample, r.foreign.Sample
		for _, path := range append([]*string{&r.sample.File}, pointers(r.sample.Companions)...) {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	} else {
		r.mapping = cmp.Or(r.mapping, filepath.Join(root, "e2e", "conformance", "mappings", "operator-testbed.yaml"))
		mapping, err := conformance.ReadMapping(r.mapping)
		if err != nil {
			return err
		}
		r.foreign.Args, r.foreign.Env = slices.Concat(mapping.Args, r.foreign.Args), slices.Concat(mapping.Env, r.foreign.Env)
		checks.Operator = mapping
		if r.mapping, err = filepath.Abs(r.mapping); err != nil {
			return err
		}
	}
	r.all = checks.Points()
	r.chosen, err = chosenPoints(r.all, flags.points, flags.all)
	return err
}

func pointers(texts []string) []*string {
	var all []*string
	for i := range texts {
		all = append(all, &texts[i])
	}
	return all
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
			return nil, usageError{fmt.Errorf("there is no point %q: use a claim from the table that a run prints, such as %q", claim, points[0].Claim)}
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

// checkRuns checks the operator with one sample after another, or with the mapping. It writes a line for each step.
func checkRuns(ctx context.Context, root string, flags conformanceFlags, runs []conformanceRun, steps io.Writer) (conformance.Report, error) {
	work, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	var report conformance.Report
	for i, run := range runs {
		if run.labeled {
			fmt.Fprintf(steps, "sample %d of %d: %s\n", i+1, len(runs), run.sample.Name)
		}
		own := filepath.Join(work, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, err
		}
		points, err := checkPoints(ctx, root, own, flags, run, steps)
		if err != nil {
			return nil, err
		}
		if run.labeled {
			points = points.OfSample(run.sample.Name)
		}
		report = append(report, points...)
	}
	return report, nil
}

// checkPoints runs the suite with the operator that was named, or with the one of the clone at root. It writes a line for each step.
func checkPoints(ctx context.Context, root, work string, flags conformanceFlags, run conformanceRun, steps io.Writer) (conformance.Report, error) {
	foreign := run.foreign
	foreign.Manifests = cmp.Or(foreign.Manifests, filepath.Join(root, "operator", "config", "default"))
	if foreign.Operator == "" && flags.inPods() {
		return nil, usageError{errors.New("on a kind cluster, the operator runs as an image: name it with OPERATOR or --operator, for example the archive that docker save writes")}
	}
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
	before, err := run.prepareBefore(ctx, root, work)
	if err != nil {
		return nil, err
	}
	var env []string
	if flags.inPods() {
		env = []string{"TESTBED_IMAGES=" + strings.Join(archives(flags.load, prepared, before), string(filepath.ListSeparator))}
	} else {
		confine, note, err := confined(flags.unconfined, flags.directory)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(steps, note)
		assets, err := embedded.AssetsOf(ctx, flags.kubernetes, os.Stderr)
		if err != nil {
			return nil, err
		}
		env = []string{"OPERATOR=" + prepared.Binary, "TESTBED_CONFINE=" + confine, "FROM=" + before.Binary}
		if flags.kubernetes != embedded.Version {
			fmt.Fprintf(steps, "the cluster runs Kubernetes %s\n", flags.kubernetes)
			env = append(env, embedded.AssetsVariable+"="+assets)
		}
	}
	fmt.Fprintln(steps, "compiling the suite")
	suite, err := runner.BuildSuite(ctx, root, "e2e/conformance")
	if err != nil {
		return nil, err
	}
	return runPoints(ctx, filepath.Join(root, "e2e", "conformance"), suite, run.chosen, atOnce(flags.inPods()), steps, append(env, "CLUSTER="+flags.cluster,
		"MANIFESTS="+prepared.Manifests, "MAPPING="+run.mapping, "FROM_MANIFESTS="+before.Manifests,
		"SAMPLE="+run.sample.File, "COMPANIONS="+strings.Join(run.sample.Companions, string(filepath.ListSeparator)),
		"TESTBED_TIMEOUT="+flags.timeout().String())...)
}

// archives are those of images that the nodes get.
func archives(load []string, operators ...conformance.Prepared) []string {
	for _, operator := range operators {
		if operator.Archive != "" {
			load = append(slices.Clone(load), operator.Archive)
		}
	}
	return load
}

// prepareBefore makes the version before ready, if one was named.
func (r conformanceRun) prepareBefore(ctx context.Context, root, work string) (conformance.Prepared, error) {
	if r.before.Operator == "" {
		return conformance.Prepared{}, nil
	}
	before := r.before
	before.Manifests = cmp.Or(before.Manifests, filepath.Join(root, "operator", "config", "default"))
	directory := filepath.Join(work, "before")
	if err := os.Mkdir(directory, 0o700); err != nil {
		return conformance.Prepared{}, err
	}
	prepared, err := before.Prepare(ctx, directory)
	if err != nil {
		return prepared, fmt.Errorf("the version before: %w", err)
	}
	return prepared, nil
}

// confined returns how the suite confines the operator, which starts in the directory if there is one, as $TESTBED_CONFINE takes it, and a
// sentence that says so.
func confined(unconfined bool, directory string) (value, note string, err error) {
	if unconfined {
		return "no", "the operator runs unconfined, with all your permissions, as --unconfined says", nil
	}
	text, err := json.Marshal(runner.Confinement{Optional: true, DeclaredPorts: true, Directory: directory})
	if err != nil {
		return "", "", err
	}
	walls, err := confinement.Supported()
	if err != nil {
		return string(text), fmt.Sprintf("the operator runs UNCONFINED, with all your permissions: %v", err), nil
	}
	return string(text), fmt.Sprintf("the operator runs confined by %s: it reaches neither your files nor the network, except for the API server", walls), nil
}

// atOnce returns how many points are checked at once: enough that a wait of one costs the others nothing, and few enough that a small
// machine keeps up, which starts real containers if the operator runs in a pod.
func atOnce(inPods bool) int {
	const most = 6
	if inPods {
		return min(most, runtime.NumCPU()+1)
	}
	return most
}

// runPoints runs the suite's test binary, and writes a line for each point when it has been checked.
//
// If no point could be tried, the evidence stays where failures are kept, because the error names it.
func runPoints(ctx context.Context, dir, suite string, points []conformance.Point, parallel int, steps io.Writer, env ...string) (_ conformance.Report, returned error) {
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
	command := exec.CommandContext(ctx, suite, "-test.run="+pattern(points), "-test.timeout=0", "-test.parallel="+strconv.Itoa(parallel))
	command.Dir = dir
	command.Stderr = steps
	command.ExtraFiles = []*os.File{out}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	// Its report is the pipe, which it does not pass on to the operator. What it says last is where the evidence of failed points is, of which the report says enough.
	command.Env = slices.Concat(os.Environ(), env, []string{summary.Variable + "=all", "TESTBED_ARTIFACTS=" + artifacts, "TESTBED_REPORT=fd:3", "TESTBED_FAILURES=" + os.DevNull})
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
		return nil, reportErr
	}
	if gate.Outcome == framework.DoesNotHold {
		return nil, fmt.Errorf("%w: %s%s", errNothingServed, advice(gate.Message), gate.Message)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the suite ended before the first point: %w", err)
	}
	return conformance.NewReport(points, results), nil
}

// unknownKind is what clients log about a kind that the cluster does not serve. In a line of JSON, its quotes are escaped.
var unknownKind = regexp.MustCompile(`no matches for kind \\*"([^"\\]+)\\*" in version \\*"([^"\\]+)\\*"`)

// onlyInPods is what client-go says in a program that looks for the API server only where pods find it.
const onlyInPods = "unable to load in-cluster configuration"

// advice returns a sentence about what to do, according to the log of an operator, or "". If it has asked for kinds in vain, that is about
// the first one.
func advice(log string) string {
	if found := unknownKind.FindStringSubmatch(log); found != nil {
		return fmt.Sprintf("the operator needs %s of %s, which no CustomResourceDefinition defines: name its file with crds or --crds.\n", found[1], found[2])
	}
	if strings.Contains(log, onlyInPods) {
		return "the operator looks for the API server only where pods find it, but it runs as a process: let it read the file that KUBECONFIG names, as controller-runtime does.\n"
	}
	return ""
}

// readResults reads the results of points from the suite's report, and calls done with each and its number. gate is the result of what
// comes before the points.
func readResults(from io.Reader, done func(int, framework.Result)) (results []framework.Result, gate framework.Result, err error) {
	r := suitereport.Report{Done: func(result framework.Result) {
		if result.Feature == conformance.Gate {
			gate = result
			return
		}
		results = append(results, result)
		done(len(results), result)
	}}
	if err := r.Follow(from); err != nil {
		return results, gate, fmt.Errorf("read the suite's report: %w", err)
	}
	switch start := r.Start; {
	case start == nil:
	case start.Feature == framework.StartOfOperator:
		gate = *start
	default:
		return nil, gate, fmt.Errorf("the cluster does not start: %s", start.Reason)
	}
	return results, gate, nil
}
