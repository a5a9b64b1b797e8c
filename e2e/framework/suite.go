// Package framework is what the suites are written with: the cluster, the operator and a namespace for each feature, waiting for
// what is expected, judging what happened, and keeping what was seen of a failure.
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
// A suite runs on the cluster that $CLUSTER names, and is skipped where that is not set: plain `go test ./...` must compile
// no Kubernetes. What is seen of a failure is kept in a folder in $TESTBED_ARTIFACTS, or among the temporary files, whose
// path is printed last. $KEEP=1 leaves a kind cluster up, and $TESTBED_CLUSTER names a cluster of the kind that is up and
// stays up, for several suites to run on, one after another: the CustomResourceDefinitions stay there, for the next suite to
// upgrade them in place. An embedded one is reset before each suite. Ctrl-C ends the tests, and takes down what is up. Mutants run
// through four more: $OPERATOR names an executable to test in place of the one the suite builds, $MANIFESTS a copy of the
// operator's config folder, $TESTBED_TIMEOUT how long an assertion waits, which is longer on a machine that is busy, and
// $TESTBED_EXPECTED a part of what one must fail with, which then waits less. $TESTBED_SEED, a whole number, chooses the names, sizes
// and ports that features use; it is 1 if not set, and printed with each failure.
package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
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
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/interrupt"
)

// Options say what a suite tests. Paths are relative to the suite's folder.
type Options struct {
	// Name names the suite's cluster and its artifacts.
	Name string
	// AddToScheme adds the operator's types to the suite's clients.
	AddToScheme []func(*runtime.Scheme) error
	// CRDs are files and folders of the operator's CustomResourceDefinitions.
	CRDs []string
	// Package is the operator's main package. Empty means that there is nothing to run.
	Package string
	// Config is the folder of the operator's manifests, of which $MANIFESTS may name a copy. Empty means the folder that
	// Kustomization is in.
	Config string
	// Kustomization is the folder of the manifests that install the operator, or its CustomResourceDefinitions where there is
	// nothing to run. Empty means that there is nothing to install. Where the API server can call webhooks of a process, what
	// [runner.Local] finds beside it serves in its place.
	Kustomization string
	// Operand is the image that the operator deploys, and the environment variable that tells it of another. Where nodes have no
	// registry, one is brought to them.
	Operand Operand
	// Project is the folder whose Makefile makes the operator's image, with the target docker-build. Where nodes run an image that
	// is brought to them, features that run beside others meet the operator deployed as this image; those that run alone have the
	// process, which they may stop. Empty means that there is only the process.
	Project string
	// Patience are arguments of the operator's, deployed for features that run beside others: many pods that start at once keep
	// its API server from answering in time for a lease.
	Patience []string
	// Sample is a kustomization of one object, which the operator's webhooks are asked about to find out whether they answer
	// yet. Empty means that it has none.
	Sample string
	// Nodes is a configuration of kind's, for a suite about nodes. It is skipped on all other clusters.
	Nodes string
	// Record are the kinds that the operator's work shows in. They are recorded in each feature's namespace.
	Record []schema.GroupVersionKind
}

// Operand is an image that an operator deploys.
type Operand struct {
	// Variable is the operator's environment variable that names it.
	Variable string
	// Image is what the operator deploys when the variable is not set.
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

	// Set once, before the first test.
	cluster   cluster.Provider
	created   bool // the cluster
	config    *rest.Config
	client    client.WithWatch
	manifests runner.Manifests
	operand   []string // the environment that tells the operator what to deploy
	operator  *runner.Operator
	own       *supervisor.Supervisor       // where the cluster has none
	added     []*unstructured.Unstructured // what a cluster that is not ours is to be rid of again
	work      string                       // a folder for what is gone when Run returns
	timeout   time.Duration                // of an assertion; zero before the cluster is known
	seed      uint64                       // of names, sizes and ports

	// Set once, before the first test that runs beside others.
	beside   func() error
	deployed *runner.Deployed // nil where the operator is a process

	mu        sync.Mutex
	artifacts []string
}

// New returns a suite. Nothing happens before Run.
func New(o Options) *Suite {
	return &Suite{options: o, scheme: runtime.NewScheme()}
}

// Run brings up the cluster and the operator, runs the tests and takes everything down again. It returns the exit code for
// TestMain.
func (s *Suite) Run(m *testing.M) int {
	supervisor.Main()

	which := os.Getenv("CLUSTER")
	if which == "" {
		s.skip = "this suite needs a cluster: run it with `make test`, or with `make e2e CLUSTER=embedded`"
		return m.Run()
	}
	if s.options.Nodes != "" && which != kind.Kind {
		s.skip = "this suite is about real nodes, which this cluster has none of that a test may stop: make e2e runs it"
		return m.Run()
	}
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
	environment, err := s.setUp(ctx, which)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
		return 1
	}
	s.env = environment
	code := s.env.Run(m)
	if err := tellLast(s.left(), os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: saying what it has left, %q: %v\n", s.options.Name, s.left(), err)
	}
	return code
}

// left are lines about what the suite has left: the folders of what was seen of failures, and a cluster that is kept.
func (s *Suite) left() []string {
	var lines []string
	for _, folder := range s.artifacts {
		lines = append(lines, fmt.Sprintf("What was seen of a failure: %s, with %s=%d", folder, seedVariable, s.seed))
	}
	if kept := s.cluster.Capabilities().Kept; kept != "" {
		lines = append(lines, kept)
	}
	return lines
}

func (s *Suite) test(t *testing.T, parallel bool, feature types.Feature) {
	t.Helper()
	if s.skip != "" {
		t.Skip(s.skip)
	}
	if parallel {
		t.Parallel() // returns when all that run alone are done
		if err := s.beside(); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Cleanup(func() { s.mend(t) })
	}
	s.env.Test(t, feature)
}

// mend starts the operator as it was at first where a feature that may have changed it has failed half-way, so that the next
// ones speak for themselves.
func (s *Suite) mend(t *testing.T) {
	if !t.Failed() || s.operator == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), recoverTimeout)
	defer cancel()
	if err := s.operator.Restart(ctx); err != nil {
		t.Errorf("starting the operator as it was at first, after a failure: %v", err)
	}
}

func (s *Suite) setUp(ctx context.Context, which string) (env.Environment, error) {
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, s.options.AddToScheme...) {
		if err := add(s.scheme); err != nil {
			return nil, err
		}
	}
	if text := os.Getenv("TESTBED_TIMEOUT"); text != "" {
		timeout, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("TESTBED_TIMEOUT=%s is no duration: give one such as 10s", text)
		}
		s.timeout = timeout
	}
	var err error
	if s.seed, err = seedFromEnv(); err != nil {
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
	options := cluster.Options{CRDs: crds, Keep: os.Getenv("KEEP") == "1", Attached: os.Getenv(sharedVariable)}
	if which == kind.Kind { // it takes long, and says which images it uses
		options.Progress = os.Stderr
	}
	provider, err := cluster.New(which, options)
	if err != nil {
		return nil, err
	}
	s.cluster = provider
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
		Setup(s.start(name)).
		BeforeEachFeature(s.open).
		Finish(s.stop, s.destroy), nil
}

// Manifests returns where a path of the operator's manifests is: in the copy that $MANIFESTS names, if it does.
func (s *Suite) Manifests(path string) (string, error) {
	copied := os.Getenv("MANIFESTS")
	if copied == "" {
		return path, nil
	}
	within, err := filepath.Rel(cmp.Or(s.options.Config, filepath.Dir(s.options.Kustomization)), path)
	return filepath.Join(copied, within), err
}

// start creates the cluster while the operator is being compiled, and then runs the one on the other.
func (s *Suite) start(name string) env.Func {
	return func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
		var binary string
		var building errgroup.Group
		building.Go(func() (err error) {
			binary, err = s.binary(ctx)
			return err
		})
		if s.deploys() {
			building.Go(func() error { return runner.BuildImage(ctx, s.options.Project, kind.Program(), s.image()) })
		}
		create := envfuncs.CreateCluster(s.cluster, name)
		if s.options.Nodes != "" {
			create = envfuncs.CreateClusterWithConfig(s.cluster, name, s.options.Nodes)
		}
		ctx, createErr := create(ctx, cfg)
		s.created = createErr == nil
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

// defaultTimeout is how long an assertion waits unless told otherwise: pods that really run take a small machine long.
func defaultTimeout(runsPods bool) time.Duration {
	if runsPods {
		return Slow
	}
	return Converge
}

// binary returns the operator's executable: the one that $OPERATOR names, or one built now.
func (s *Suite) binary(ctx context.Context) (string, error) {
	if path := os.Getenv("OPERATOR"); path != "" || s.options.Package == "" {
		return path, nil
	}
	path := filepath.Join(s.work, "operator")
	return path, runner.Build(ctx, ".", s.options.Package, path)
}

// connect replaces e2e-framework's client, which is limited to five requests a second, by one without a limit.
func (s *Suite) connect(cfg *envconf.Config) error {
	s.config = s.cluster.KubernetesRestConfig()
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
		kustomization = runner.Local(kustomization)
	}
	manifests, err := runner.Render(kustomization)
	if err != nil {
		return err
	}
	s.manifests = manifests
	processes, err := s.supervisor(ctx)
	if err != nil {
		return err
	}
	if s.own != nil {
		if s.added, err = runner.Absent(ctx, s.config, manifests); err != nil {
			return err
		}
	}
	shared := os.Getenv(sharedVariable) != ""
	if shared || s.options.Package == "" {
		if err := runner.Define(ctx, s.config, manifests); err != nil {
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
	s.operator, err = runner.Start(ctx, runner.Options{
		Name: "operator", Config: s.config, Supervisor: processes, Manifests: manifests, Binary: binary,
		Webhooks: s.cluster.Capabilities().CallsHost, Env: s.operand,
	})
	return err
}

// stock brings the operator's image to the nodes, and what the operator deploys, where that is for us to do.
func (s *Suite) stock(ctx context.Context) error {
	can := s.cluster.Capabilities()
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

// stop ends the operator, and removes what the suite has brought, where the cluster lives on.
func (s *Suite) stop(ctx context.Context, _ *envconf.Config) (context.Context, error) {
	if s.own == nil {
		return ctx, nil
	}
	bounded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), removeTimeout, fmt.Errorf("it took longer than %v", removeTimeout))
	defer cancel()
	return ctx, errors.Join(s.own.Shutdown(bounded), runner.Remove(bounded, s.config, s.added))
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
	// e2e-framework tells nobody.
	if err = errors.Join(err, s.cluster.Destroy(ending)); err != nil {
		fmt.Fprintf(os.Stderr, "the suite %s: %v\n", s.options.Name, err)
	}
	return ctx, err
}

// removeTimeout bounds the clean-up of a cluster that lives on: a namespace goes when all that is in it has gone.
const removeTimeout = 2 * time.Minute

// auditLog returns the cluster's audit log, or nil where it keeps none.
func (s *Suite) auditLog() *audit.Log {
	if path := s.cluster.Capabilities().AuditLog; path != "" {
		return audit.Open(path)
	}
	return nil
}
