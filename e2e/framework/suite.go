// Package framework is a library for end-to-end suites. It starts a cluster and the operator under test, gives each feature a
// namespace, waits for expected states (WaitForX), checks what has happened (VerifyX), and keeps the evidence of failures.
//
//	var memcached = framework.New(framework.Options{Name: "memcached", ...})
//
//	func TestMain(m *testing.M) { os.Exit(memcached.Run(m)) }
//
//	func TestScale(t *testing.T) {
//		memcached.Feature("scale").
//			Assess("...", func(ctx context.Context, s *framework.Scope) {
//				...
//			}).
//			Test(t)
//	}
//
// These environment variables configure a suite:
//
//   - CLUSTER names the cluster: embedded, kind or existing. A suite without it is skipped, because plain `go test ./...` must not
//     download or compile Kubernetes.
//   - TESTBED_ARTIFACTS is the directory for the evidence of failures. By default, it is testbed-artifacts-UID in the directory for
//     temporary files, where UID is the user's ID. The path of each failure's own directory is printed last.
//   - TESTBED_REPORT is the absolute path of a file to which the suite appends a line of JSON for each feature: see [Result]. fd:3 is
//     an inherited file descriptor, which the suite does not pass on to other processes.
//   - TESTBED_SEED is a whole number, from which features derive names, sizes and ports. It is 1 by default, and each failure prints it.
//   - KEEP=1 leaves a kind cluster up.
//   - TESTBED_SELECTION is the absolute path of a file that lists the features to leave out on clusters whose pods really run: see
//     package selection.
//   - TESTBED_CLUSTER names a running cluster, on which several suites can run one after another. An embedded cluster is reset before
//     each suite, except for the CustomResourceDefinitions, which the next suite upgrades in place.
//   - TESTBED_POOL is set by `testbed pool with`: the suite borrows an embedded cluster from that pool, instead of creating one.
//
// Ctrl-C stops the tests and everything that they have started.
//
// On a cluster that the testbed did not create, a suite changes and deletes only what it has created (package guard). It refuses to
// start if the cluster has objects of the operator's kinds, or an operator that serves them (package inventory). The labels of a feature
// decide whether it runs there: see [Disruptive].
//
// Mutants, learners' checks, graders and `testbed conformance` use eight more variables:
//
//   - OPERATOR is an executable to test instead of the one that the suite builds. It is confined: see [runner.Confinement].
//   - TESTBED_IMAGES lists archives of images, as docker save writes them, which are loaded onto the nodes. The operator then runs in pods,
//     as the image that its manifests name, and not as a process: see [runner.InPods].
//   - MANIFESTS is a copy of the operator's directory config.
//   - TESTBED_TIMEOUT is how long an assertion waits, such as 10s. It waits longer on a busy machine.
//   - TESTBED_TIMEOUT_FAILING is how long an assertion waits in features that start after one has failed. It is shorter than
//     TESTBED_TIMEOUT if many features may fail while a user waits for the result.
//   - TESTBED_EXPECTED is a part of the message with which an assertion must fail, or several parts, one on each line. An assertion that
//     fails in this way waits less.
//   - TESTBED_GO=no skips tests that compile programs: see [Scope.NeedsGo].
//   - TESTBED_CONFINE limits what the executable in OPERATOR may use, as JSON: see [runner.Confinement]. A machine that can't enforce the
//     limits refuses to run it. TESTBED_CONFINE=no declares it your own: it runs with your environment and permissions.
package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/inputs"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/framework/selection"
	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

// Options describe what a suite tests. Paths are relative to the directory of the suite's package.
type Options struct {
	// Name names the suite's cluster, its namespaces and its artifacts. It must be a valid name of a namespace.
	Name string
	// AddToScheme are functions that add the operator's types to the scheme of [Scope.Client]. Kubernetes' own types are in it.
	AddToScheme []func(*runtime.Scheme) error
	// CRDs are files of the operator's CustomResourceDefinitions, and directories of such files.
	CRDs []string
	// Package is the operator's main package, such as "../../cmd". Empty means that there is nothing to run.
	Package string
	// Config is the directory of the operator's manifests; $MANIFESTS may name a copy of it. Empty means the parent directory of
	// Kustomization.
	Config string
	// Kustomization is the directory of the kustomization that installs the operator, a file with its rendered objects or, if there is
	// nothing to run, with only its CustomResourceDefinitions. Empty means that there is nothing to install. Where the API server can call
	// webhooks of a process, the kustomization that [manifest.Local] finds beside it is used instead.
	Kustomization string
	// Operand is the image that the operator deploys. If the nodes have no registry, the image is loaded onto them.
	Operand Operand
	// Project is the directory whose Makefile builds the operator's image, with the target docker-build. If images can be loaded onto the
	// nodes, features that run in parallel use the operator that is deployed as this image. Features that run alone use the process, which
	// they may stop. Empty means that there is only the process.
	Project string
	// Patience are additional arguments for the operator when it is deployed for features that run in parallel, because many pods that
	// start at once can keep the API server from renewing a lease in time.
	Patience []string
	// Sample is the directory of a kustomization with one object. It is sent to the operator's webhooks as a dry run, to find out whether
	// they already answer. Empty means that the operator has no webhooks.
	Sample string
	// Inputs are additional files and directories on which the results depend: what the tests compile or run, besides the operator and its
	// manifests. Files that the tests read themselves need not be listed.
	Inputs []string
	// Nodes is the file of a kind configuration, for a suite about nodes, which is skipped on other clusters.
	Nodes string
	// Progress gets a line for each step of the cluster's start. nil means no lines, except for a kind cluster, which takes long.
	Progress io.Writer
	// Record lists the kinds of which every version is recorded in each feature's namespace: see [Scope.History].
	Record []schema.GroupVersionKind
	// Always lists the invariants that are checked at the end of every feature that has held.
	Always []Invariant
}

// Operand is an image that an operator deploys.
type Operand struct {
	// Variable is the environment variable that sets another image.
	Variable string
	// Image is the image that the operator deploys if the variable is not set.
	Image string
}

// sharedVariable is the environment variable that names a cluster which several suites share, one after the other.
const sharedVariable = "TESTBED_CLUSTER"

// Suite runs features against one operator on one cluster.
type Suite struct {
	options Options
	scheme  *runtime.Scheme
	env     env.Environment

	// skip says why no feature runs; empty means they do.
	skip string

	inputs  inputs.Set
	pinned  bool      // the inputs contain what the cluster is made of
	showing sync.Once // of the inputs, in the first test

	// Set once, before the first test.
	reports   *reporter
	cluster   cluster.Provider
	created   bool                    // the cluster
	lose      context.CancelCauseFunc // ends the run when the cluster has gone
	config    *rest.Config
	foreign   *foreign // nil where the testbed has created the cluster
	client    client.WithWatch
	manifests manifest.Set
	address   string   // at which the API server calls this machine's webhooks; empty means its own loopback, if it does at all
	operand   []string // the environment that names the image that the operator deploys
	operator  *runner.Operator
	own       *supervisor.Supervisor       // where the cluster has none
	added     []*unstructured.Unstructured // what is removed at the end from a cluster that stays
	work      string                       // a directory that is removed when Run returns
	timeout   time.Duration                // of an assertion; zero before the cluster is known
	failing   time.Duration                // of an assertion after a failure; zero means timeout
	failed    atomic.Bool                  // a feature
	unclean   bool                         // something is left on a cluster that the testbed did not create
	seed      uint64                       // of names, sizes and ports
	selection *selection.Selection         // nil where no feature is left out

	// Set once, before the first test that runs beside others.
	beside   func() error
	deployed *runner.Deployed // nil where the operator is a process

	mu        sync.Mutex
	artifacts []string
	seen      map[string]int64 // how much of each log of the operator was seen at the end of a feature
}

// New returns a suite. Nothing is started before [Suite.Run].
func New(o Options) *Suite {
	return &Suite{options: o, scheme: runtime.NewScheme(), seen: map[string]int64{}}
}

// Run starts the cluster and the operator, runs the package's tests, and stops everything again. It returns the exit code for TestMain.
// Errors of the cluster and the operator are printed to stderr.
func (s *Suite) Run(m *testing.M) int {
	supervisor.Main()
	reaper.Main()
	runner.Main()
	if errInherited != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, errInherited)
		return 1
	}
	s.reports = inherited
	_ = os.Unsetenv(reportVariable) // it is not for the operator

	which := os.Getenv("CLUSTER")
	if which == "" {
		s.skip = "this suite needs a cluster: run it with `make test`, or with `make e2e CLUSTER=embedded`"
		return m.Run()
	}
	if s.options.Nodes != "" && !cluster.HasNodesToStop(which) {
		s.skip = "this suite stops real nodes, and this cluster has none that a test may stop: make nightly runs it"
		return m.Run()
	}
	defer reaper.Begin().End()
	work, err := os.MkdirTemp("", "suite-"+s.options.Name+"-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
		return 1
	}
	defer os.RemoveAll(work)
	s.work = work
	ctx, stop := signal.NotifyContext(context.Background(), interrupt.Signals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal is not waited for
	ctx, s.lose = context.WithCancelCause(ctx)
	defer s.lose(nil)
	if s.env, err = s.setUp(ctx, which); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
		return 1
	}
	code := s.env.Run(m)
	if err := s.discardUnlessReusable(); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
		code = max(code, 1)
	}
	if s.unclean {
		code = max(code, 1)
	}
	if err := printLast(s.left(), os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: saying what it has left, %q: %v\n", s.options.Name, s.left(), err)
	}
	return code
}

// left are lines about what the suite has left: the directories of what was seen of failures, and a cluster that is kept.
func (s *Suite) left() []string {
	var lines []string
	for _, directory := range s.artifacts {
		lines = append(lines, fmt.Sprintf("What was seen of a failure: %s, with %s=%d", directory, seedVariable, s.seed))
	}
	if kept := s.cluster.Capabilities().Kept; kept != "" {
		lines = append(lines, kept)
	}
	return lines
}

func (s *Suite) test(t *testing.T, parallel bool, feature types.Feature, r *result) {
	t.Helper()
	s.showing.Do(s.showInputs)
	if s.skip != "" {
		r.note(NotTried, "", s.skip)
		t.Skip(s.skip)
	}
	if s.cluster != nil {
		if reason, by := gate(feature.Labels(), s.cluster.Capabilities()); reason != "" {
			r.note(NotTried, "", reason)
			skip(t, by, reason)
		}
		if reason, by := s.leftOut(t.Name()); reason != "" {
			r.note(NotTried, "", reason)
			skip(t, by, reason)
		}
	}
	if parallel {
		t.Parallel() // returns when all that run alone are done
		if err := s.beside(); err != nil {
			r.note(NotTried, "", err.Error())
			t.Fatal(err)
		}
	} else {
		t.Cleanup(func() { s.recoverOperator(t) })
	}
	s.env.Test(t, feature)
}

// skip skips a test, which another tier proves unless by is empty.
func skip(t testing.TB, by tier.Tier, reason string) {
	t.Helper()
	if by != "" {
		tier.Skipf(t, by, "%s", reason)
	}
	t.Skip(reason)
}

// recoverOperator restarts the operator as it was at first if a feature that may have changed it has failed half-way, so that the next features
// start from the same state.
func (s *Suite) recoverOperator(t *testing.T) {
	if !t.Failed() || s.operator == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), recoverTimeout)
	defer cancel()
	err := s.operator.Stop(ctx)
	if err == nil {
		err = s.dropLeases(ctx)
	}
	if err == nil {
		err = s.operator.Restart(ctx)
	}
	if err != nil {
		t.Errorf("starting the operator as it was at first, after a failure: %v", err)
	}
}

func (s *Suite) setUp(ctx context.Context, which string) (env.Environment, error) {
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, s.options.AddToScheme...) {
		if err := add(s.scheme); err != nil {
			return nil, err
		}
	}
	var err error
	if s.timeout, err = timeoutFromEnv(timeoutVariable, s.timeout); err != nil {
		return nil, err
	}
	if s.failing, err = timeoutFromEnv(failingVariable, s.failing); err != nil {
		return nil, err
	}
	if s.seed, err = seedFromEnv(); err != nil {
		return nil, err
	}
	if err := s.readSelection(); err != nil {
		return nil, err
	}
	var crds []string
	for _, path := range s.options.CRDs {
		crd, err := s.Manifests(path)
		if err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	options := cluster.Options{CRDs: crds, Keep: os.Getenv("KEEP") == "1", Attached: os.Getenv(sharedVariable), Pool: cluster.Pool(), Progress: s.options.Progress}
	if s.cluster, err = cluster.New(which, options); err != nil {
		return nil, err
	}
	s.beside = sync.OnceValue(func() error { return s.handOver(ctx) })
	cfg, err := envconf.NewFromFlags()
	if err != nil {
		return nil, err
	}
	name := envconf.RandomName("suite-"+s.options.Name, len(s.options.Name)+12)
	environment, err := env.NewWithContext(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return environment.
		Setup(s.reported(s.start(name))).
		BeforeEachFeature(s.open).
		Finish(s.stop, s.destroy), nil
}

// Manifests returns the path of a file or directory of the operator's manifests: in the copy that $MANIFESTS names, or path itself if that
// is not set. It returns an error if path is not in [Options.Config].
func (s *Suite) Manifests(path string) (string, error) {
	copied := os.Getenv("MANIFESTS")
	if copied == "" {
		return path, nil
	}
	within, err := filepath.Rel(cmp.Or(s.options.Config, filepath.Dir(s.options.Kustomization)), path)
	return filepath.Join(copied, within), err
}

// reported is a start whose failure is in the report.
func (s *Suite) reported(start env.Func) env.Func {
	return func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
		ctx, err := start(ctx, cfg)
		if err != nil && ctx.Err() == nil {
			err = errors.Join(err, s.reportStart(err))
		}
		return ctx, err
	}
}

// start creates the cluster while the operator is being compiled, and then runs the one on the other.
func (s *Suite) start(name string) env.Func {
	return func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
		if err := s.addFiles(); err != nil { // before anything reads them
			return ctx, err
		}
		var binary string
		var building errgroup.Group
		building.Go(func() (err error) {
			if err := s.addProgram(ctx); err != nil {
				return err
			}
			binary, err = s.binary(ctx)
			return err
		})
		if s.deploys() {
			building.Go(func() error { return runner.BuildImage(ctx, s.options.Project, cluster.Engine(), s.image()) })
		}
		create := envfuncs.CreateCluster(s.cluster, name)
		if s.options.Nodes != "" {
			create = envfuncs.CreateClusterWithConfig(s.cluster, name, s.options.Nodes)
		}
		ctx, createErr := create(ctx, cfg)
		s.created = createErr == nil
		s.watchLoan(ctx)
		if err := errors.Join(createErr, building.Wait()); err != nil {
			return ctx, err
		}
		if err := s.connect(cfg); err != nil {
			return ctx, err
		}
		if s.timeout == 0 {
			s.timeout = defaultTimeout(s.cluster.Capabilities().RunsPods)
		}
		if s.options.Kustomization == "" {
			return ctx, nil
		}
		return ctx, s.runOperator(ctx, binary)
	}
}

// watchLoan ends the run when a cluster goes that another process owns: nothing could pass any more.
func (s *Suite) watchLoan(ctx context.Context) {
	lost := s.cluster.Capabilities().Lost
	if !s.created || lost == nil {
		return
	}
	go func() {
		select {
		case <-lost:
			fmt.Fprintf(os.Stderr, "the suite %s: the pool that its cluster is from has ended\n", s.options.Name)
			s.lose(errors.New("the pool that the cluster is from has ended"))
		case <-ctx.Done():
		}
	}()
}

// defaultTimeout is how long an assertion waits unless told otherwise: pods that really run take a small machine long.
func defaultTimeout(runsPods bool) time.Duration {
	if runsPods {
		return convergeOnNodes
	}
	return Converge
}

// binary returns the operator's executable: the one that $OPERATOR names, or one built now.
func (s *Suite) binary(ctx context.Context) (string, error) {
	if path := os.Getenv(operatorVariable); path != "" || s.options.Package == "" || s.inPods() {
		return path, nil
	}
	path := filepath.Join(s.work, "operator")
	return path, runner.Build(ctx, ".", s.options.Package, path)
}

// connect replaces e2e-framework's client, which is limited to five requests a second, by one without a limit.
func (s *Suite) connect(cfg *envconf.Config) error {
	s.config = s.cluster.KubernetesRestConfig()
	if err := s.protect(); err != nil {
		return err
	}
	framework, err := klient.New(s.config)
	if err != nil {
		return err
	}
	cfg.WithClient(framework)
	s.client, err = client.NewWithWatch(s.config, client.Options{Scheme: s.scheme})
	return err
}

func (s *Suite) runOperator(ctx context.Context, binary string) error {
	kustomization, err := s.Manifests(s.options.Kustomization)
	if err != nil {
		return err
	}
	if s.cluster.Capabilities().CallsHost {
		kustomization = manifest.Local(kustomization)
	}
	if s.manifests, err = manifest.Load(kustomization); err != nil {
		return err
	}
	// Without conversions, an operator's other features can be tested without webhooks, or with those of its image.
	if reach := s.cluster.Capabilities().HostAddress; reach != nil && s.manifests.HasConversions() {
		if s.address, err = reach(ctx); err != nil {
			return err
		}
	}
	processes, err := s.supervisor(ctx)
	if err != nil {
		return err
	}
	if s.own != nil {
		if s.added, err = install.Absent(ctx, s.config, s.manifests); err != nil {
			return err
		}
	}
	if err := s.respect(ctx); err != nil {
		s.added = nil // and never will be
		return err
	}
	shared := os.Getenv(sharedVariable) != ""
	if shared || s.options.Package == "" {
		definitions := s.manifests
		if s.foreign != nil { // those that are there are the same, and stay as they are
			definitions = manifest.New(s.added...)
		}
		if err := install.CRDs(ctx, s.config, definitions); err != nil {
			return err
		}
	}
	if shared {
		s.added = slices.DeleteFunc(s.added, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
	}
	if s.options.Package == "" {
		return nil
	}
	if err := s.stock(ctx); err != nil {
		return err
	}
	own, confinement, err := confinement()
	if err != nil {
		return err
	}
	pods, err := s.pods()
	if err != nil {
		return err
	}
	s.operator, err = runner.Start(ctx, runner.Options{
		Name: "operator", Config: s.config, Supervisor: processes, Manifests: s.manifests, Binary: binary, Own: own, Confinement: confinement,
		InPods: pods, Webhooks: s.callsProcess(), Address: s.address, Env: s.operand,
		Evidence: func() (string, error) { return artifactsDirectory(s.options.Name, "start") },
	})
	return err
}

// callsProcess reports whether the API server calls webhooks of the operator's process.
func (s *Suite) callsProcess() bool { return s.cluster.Capabilities().CallsHost || s.address != "" }

// stock brings the operator's image to the nodes, and what the operator deploys, where that is for us to do.
func (s *Suite) stock(ctx context.Context) error {
	can := s.cluster.Capabilities()
	if err := s.loadImages(ctx); err != nil {
		return err
	}
	if s.deploys() {
		if err := can.LoadImage(ctx, s.image()); err != nil {
			return err
		}
	}
	if can.Stock == nil || s.options.Operand.Variable == "" {
		return nil
	}
	image, err := can.Stock(ctx, s.options.Operand.Variable, s.options.Operand.Image)
	s.operand = []string{s.options.Operand.Variable + "=" + image}
	return err
}

// supervisor returns the cluster's supervisor, or an own one where the cluster has none.
func (s *Suite) supervisor(ctx context.Context) (*supervisor.Supervisor, error) {
	if processes := s.cluster.Capabilities().Processes; processes != nil {
		return processes, nil
	}
	var err error
	s.own, err = supervisor.Start(ctx, supervisor.Options{Dir: filepath.Join(s.work, "processes")})
	return s.own, err
}

// stop stops the operator, and removes what the suite has installed, where the cluster stays.
func (s *Suite) stop(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if s.own == nil {
		return ctx, nil
	}
	bounded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("it took longer than %v", removeTimeout))
	defer cancel()
	err := s.leave(bounded)
	if err != nil { // e2e-framework does not print it
		s.unclean = s.foreign != nil
		fmt.Fprintf(os.Stderr, "the suite %s: removing what it has added to the cluster: %v\n", s.options.Name, err)
	}
	return ctx, err
}

// destroy takes the cluster down, however the tests ended. Where a test has failed, the logs of a cluster of real
// nodes are kept first, among what is seen of the first failure.
func (s *Suite) destroy(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if !s.created {
		return ctx, nil // Create has left nothing
	}
	ending := context.WithoutCancel(ctx)
	var err error
	if s.own != nil && len(s.artifacts) > 0 {
		err = s.cluster.ExportLogs(ending, filepath.Join(s.artifacts[0], "cluster"))
	}
	// e2e-framework does not print it.
	if err = errors.Join(err, s.cluster.Destroy(ending)); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
	}
	return ctx, err
}

// auditLog returns the cluster's audit log, or nil where it keeps none.
func (s *Suite) auditLog() *audit.Log {
	if path := s.cluster.Capabilities().AuditLog; path != "" {
		return audit.Open(path)
	}
	return nil
}
