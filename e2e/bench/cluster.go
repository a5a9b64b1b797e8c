package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

// The targets of the embedded cluster.
const (
	// ratioLimit is how long an embedded cluster may take to a Deployment that is Available, divided by what envtest takes to an API
	// server without anything else. The shortest runs are compared: other load on the machine only ever makes a run longer.
	ratioLimit = 0.85
	// cpuRatioLimit is the same for the CPU time of all processes, and of the client that waits for them.
	cpuRatioLimit = 0.8
	// memoryLimit is in MiB, for all processes of the cluster.
	memoryLimit = 600
	// destroyLimit and resetLimit are in milliseconds.
	destroyLimit = 500
	resetLimit   = 300
)

// resets is how often one cluster is reset.
const resets = 20

// clusterName is the cluster that is measured. Two at once would only measure each other, so the second one is refused.
const clusterName = "bench"

// The measures that are compared with targets.
const (
	envtestStart   = "envtest: Environment.Start"
	envtestCPU     = "envtest: CPU time, with its stop"
	embeddedCPU    = "embedded: CPU time until then"
	embeddedMemory = "embedded: resident memory"
	embeddedEnd    = "embedded: Destroy"
	embeddedReset  = "embedded: Reset"
)

var embeddedStart = fmt.Sprintf("embedded: Deployment of %d Available", replicas)

// ClusterOptions say how the embedded cluster is measured.
type ClusterOptions struct {
	// Assets is the directory of the executables, for both competitors.
	Assets string
	// CRDs is the directory of the CustomResourceDefinitions that both install.
	CRDs string
	// Runs is how often each is measured, after a run that warms the machine up.
	Runs int
	// Progress gets a line for each step.
	Progress io.Writer
}

// Cluster measures how long an embedded cluster takes, from nothing to a Deployment that is Available, compared with envtest's
// control plane with the same executables and the same CustomResourceDefinitions. The two take turns, so that other load on the
// machine affects both. It also measures how long it takes to reset a used cluster.
//
// When ctx ends, what runs is stopped first. Only killing this program leaves something: envtest's processes outlive it.
func Cluster(ctx context.Context, o ClusterOptions) (Report, error) {
	report := Report{
		Title:   fmt.Sprintf("The embedded cluster against envtest, taking turns: %d runs of each, warm-up not counted", o.Runs),
		Machine: fmt.Sprintf("%s/%s, %d CPUs, Kubernetes %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), embedded.Version, origin(o.Assets)),
	}
	err := report.measure(o.Progress, o.Runs, func(r *run) error {
		if err := r.envtest(ctx, o); err != nil {
			return fmt.Errorf("measure envtest: %w", err)
		}
		return r.embedded(ctx, o)
	})
	if err == nil {
		err = report.measureResets(ctx, o)
	}
	if err == nil {
		report.holdCluster()
	}
	return report, err
}

// origin says how kube-apiserver was made, because a release is not compiled by the same Go.
func origin(assets string) string {
	if address := embedded.Origin(assets); address != "" {
		return "downloaded from " + address
	}
	return "compiled"
}

// holdCluster compares the report with the targets. Of the memory it takes the maximum: what a machine lacks once, it lacks.
func (r *Report) holdCluster() {
	r.Aims = []Aim{
		NewAim("start, embedded to envtest (minima)", r.of(embeddedStart).Min/r.of(envtestStart).Min, ratioLimit, ""),
		NewAim("CPU time, embedded to envtest (minima)", r.of(embeddedCPU).Min/r.of(envtestCPU).Min, cpuRatioLimit, ""),
		NewAim("memory of all processes (max)", r.of(embeddedMemory).Max, memoryLimit, "MiB"),
		NewAim("destroy (median)", r.of(embeddedEnd).Median, destroyLimit, "ms"),
		NewAim(fmt.Sprintf("reset (median of %d)", resets), r.of(embeddedReset).Median, resetLimit, "ms"),
	}
}

// envtest measures one start of envtest.
func (r *run) envtest(ctx context.Context, o ClusterOptions) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	self, children := usedSince(0, syscall.RUSAGE_SELF), usedSince(0, syscall.RUSAGE_CHILDREN)
	// Nothing in the caller's environment may lead it to another cluster or other executables.
	environment := &envtest.Environment{
		UseExistingCluster:    new(false),
		BinaryAssetsDirectory: o.Assets,
		CRDDirectoryPaths:     []string{o.CRDs},
		ErrorIfCRDPathMissing: true,
	}
	environment.ControlPlane.GetAPIServer().Path = filepath.Join(o.Assets, embedded.KubeAPIServer)
	environment.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(o.Assets, embedded.Etcd)}

	// It can't be interrupted, so it is stopped once it has started: nothing of it may be left.
	took, err := r.time("envtest starts", func() error {
		_, err := environment.Start()
		return err
	})
	_, stopped := r.time("envtest stops", environment.Stop)
	r.keepTime(envtestStart, took)
	r.keepTime(envtestCPU, usedSince(self, syscall.RUSAGE_SELF)+usedSince(children, syscall.RUSAGE_CHILDREN))
	return errors.Join(context.Cause(ctx), err, stopped)
}

// newCluster returns the cluster that is measured, which does not exist yet.
func (o ClusterOptions) newCluster() *embedded.Provider {
	cluster := embedded.NewProvider()
	cluster.WithName(clusterName).WithPath(o.Assets).WithOpts(embedded.WithCRDs(o.CRDs))
	return cluster
}

// create creates a cluster, and returns how long it took.
func (r *run) create(ctx context.Context, what string, cluster support.E2EClusterProvider) (time.Duration, error) {
	return r.time(what, func() error {
		_, err := cluster.Create(ctx)
		return err
	})
}

// embedded measures one embedded cluster.
func (r *run) embedded(ctx context.Context, o ClusterOptions) (err error) {
	cluster := o.newCluster()
	self := usedSince(0, syscall.RUSAGE_SELF)
	started, err := r.create(ctx, "the embedded cluster starts", cluster)
	if err != nil {
		return err
	}
	defer func() {
		took, failed := r.time("the embedded cluster is destroyed", func() error { return cluster.Destroy(context.WithoutCancel(ctx)) })
		r.keepTime(embeddedEnd, took)
		err = errors.Join(err, failed)
	}()
	became, err := r.time("the Deployment becomes Available", func() error { return untilAvailable(ctx, cluster.KubernetesRestConfig()) })
	if err != nil {
		return err
	}
	r.keepTime(embeddedStart, started+became)
	return r.keepUsage(ctx, cluster.Supervisor(), usedSince(self, syscall.RUSAGE_SELF))
}
