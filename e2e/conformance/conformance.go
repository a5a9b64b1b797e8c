package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Options say which operator is checked.
type Options struct {
	// Operator is its program: see Program.
	Operator image.Program
	// Manifests is the folder of the kustomization that installs it, or a file such as install.yaml: its
	// CustomResourceDefinition, its rights, and the Deployment of its manager.
	Manifests string
	// Mapping says what its API calls what.
	Mapping Mapping
	// Patience is how long a claim may take to come true. A claim that does not hold takes that long, all of them at once.
	Patience time.Duration
	// Progress gets a line for each step; nil means none.
	Progress io.Writer
}

// parallel is how many points are checked at once: enough that a wait of one costs the others nothing, and few enough that a
// small machine keeps up.
const parallel = 6

// Run brings an embedded cluster up, runs the operator on it as a process with its own ServiceAccount's rights, checks every
// point, and takes everything down again. The error is about what kept it from that, never about a claim that does not hold.
func Run(ctx context.Context, o Options) (report Report, err error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	manifests, err := runner.Load(o.Manifests)
	if err != nil {
		return nil, err
	}
	definitions, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(definitions)
	if err := manifests.WriteDefinitions(definitions); err != nil {
		return nil, err
	}

	cluster := embedded.NewProvider()
	cluster.WithName(fmt.Sprintf("conformance-%d", os.Getpid())).WithOpts(embedded.WithCRDs(definitions), embedded.WithProgress(o.Progress))
	if _, err := cluster.Create(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if failed := cluster.Destroy(context.WithoutCancel(ctx)); err == nil {
			err = failed
		}
	}()
	s, err := start(ctx, cluster, manifests, o)
	if err != nil {
		return nil, err
	}
	return s.checkAll(ctx, o.Progress), context.Cause(ctx)
}

func start(ctx context.Context, cluster *embedded.Provider, manifests runner.Manifests, o Options) (*subject, error) {
	config := cluster.KubernetesRestConfig()
	config.WarningHandler = rest.NoWarnings{} // what the checks do to the operator's objects is meant
	c, err := client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	operator, err := runner.Start(ctx, runner.Options{
		Name: "operator", Config: config, Supervisor: cluster.Supervisor(), Manifests: manifests,
		Binary: o.Operator.Path, ImageArgs: o.Operator.Args, ImageEnv: o.Operator.Env, Webhooks: true, Args: o.Mapping.Args, Env: o.Mapping.Env,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Progress, "the operator runs as %s\n", operator.UserName())
	return &subject{
		mapping: o.Mapping, client: c, cluster: cluster, operator: operator, audit: audit.Open(cluster.AuditLog()), patience: o.Patience,
	}, nil
}

// checkAll checks the points, those that need the cluster to themselves after all others.
func (s *subject) checkAll(ctx context.Context, progress io.Writer) Report {
	report := make(Report, len(points))
	var judged atomic.Int32
	check := func(i int) {
		report[i] = s.check(ctx, points[i])
		fmt.Fprintf(progress, "%d of %d: %s: %s\n", judged.Add(1), len(points), report[i].Claim, report[i].Outcome)
	}
	var together sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range points {
		if points[i].alone {
			continue
		}
		together.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			check(i)
		})
	}
	together.Wait()
	for i := range points {
		if points[i].alone {
			check(i)
		}
	}
	return report
}

func (s *subject) check(ctx context.Context, p point) Result {
	result := Result{Point: p.number, Claim: p.claim, Outcome: Holds}
	for _, need := range p.needs {
		if !need.met(s.mapping) {
			result.Outcome, result.Why = NotApplicable, "the mapping names no "+need.what
			return result
		}
	}
	result.Why = judge(ctx, func(ctx context.Context, v *verdict) { s.in(ctx, v, p.check) })
	if result.Why != "" {
		result.Outcome = DoesNotHold
	}
	return result
}
