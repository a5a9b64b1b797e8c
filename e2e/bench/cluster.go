package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

// What the embedded cluster should keep to.
const (
	// ratioLimit is how long an embedded cluster may take to a Deployment that is Available, over what envtest takes to an API
	// server alone. The shortest runs are compared: other load on the machine only ever makes a run longer.
	ratioLimit = 0.85
	// cpuRatioLimit is the same for the CPU time of all processes, to and including the client that waits.
	cpuRatioLimit = 0.8
	// memoryLimit is in MiB, for all processes of the cluster.
	memoryLimit = 600
	// destroyLimit is in milliseconds.
	destroyLimit = 500
)

// clusterName is the cluster that is measured. Two at once would only measure each other, so the second one is refused.
const clusterName = "bench"

// ClusterOptions say how the embedded cluster is measured.
type ClusterOptions struct {
	// Assets is the folder of the executables, for both competitors.
	Assets string
	// CRDs is the folder of the CustomResourceDefinitions that both install.
	CRDs string
	// Runs is how often each is measured, after a run that warms the machine up.
	Runs int
	// Progress gets a line for each step.
	Progress io.Writer
}

// Cluster measures how long an embedded cluster takes, from nothing to a Deployment that is Available, against envtest's bare
// control plane with the same executables and the same CustomResourceDefinitions. The two take turns, so that what else the
// machine does hits both.
//
// When ctx ends, what runs is ended first. Only killing this program leaves something: envtest's processes outlive it.
func Cluster(ctx context.Context, o ClusterOptions) (Report, error) {
	samples := clusterSamples{cpu: map[string][]float64{}}
	for run := range o.Runs + 1 {
		round := roundOf(run, o.Runs)
		bare, err := measureEnvtest(ctx, o, round)
		if err != nil {
			return Report{}, fmt.Errorf("measure envtest: %w", err)
		}
		life, err := measureEmbedded(ctx, o, round)
		if err != nil {
			return Report{}, fmt.Errorf("measure the embedded cluster: %w", err)
		}
		if run > 0 {
			samples.add(bare, life)
		}
	}
	return samples.report(fmt.Sprintf("%s/%s, %d CPUs, Kubernetes %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), embedded.Version)), nil
}

// roundOf is what a run is called. The first one warms the machine up.
func roundOf(run, runs int) string {
	if run == 0 {
		return "warm-up"
	}
	return fmt.Sprintf("run %d of %d", run, runs)
}

// envtestLife is what one start of envtest took.
type envtestLife struct {
	start time.Duration
	cpu   time.Duration // of everything, its stop included
}

// clusterLife is what one embedded cluster took.
type clusterLife struct {
	available time.Duration // from nothing
	cpu       cpuSplit      // until the Deployment was Available
	memory    float64       // in MiB, at that moment
	destroy   time.Duration
}

// clusterSamples are the samples of all runs.
type clusterSamples struct {
	envtest, envtestCPU        []float64
	available, memory, destroy []float64
	cpuTotal                   []float64
	cpu                        map[string][]float64 // by process
}

func (s *clusterSamples) add(bare envtestLife, life clusterLife) {
	s.envtest = append(s.envtest, milliseconds(bare.start))
	s.envtestCPU = append(s.envtestCPU, milliseconds(bare.cpu))
	s.cpuTotal = append(s.cpuTotal, milliseconds(life.cpu.total()))
	for process, used := range life.cpu {
		s.cpu[process] = append(s.cpu[process], milliseconds(used))
	}
	s.available = append(s.available, milliseconds(life.available))
	s.memory = append(s.memory, life.memory)
	s.destroy = append(s.destroy, milliseconds(life.destroy))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// report holds the medians against the aims, and of the memory the worst: what a machine lacks once, it lacks.
func (s *clusterSamples) report(machine string) Report {
	bare := newMeasure("envtest: Environment.Start", "ms", s.envtest)
	bareCPU := newMeasure("envtest: CPU time, with its stop", "ms", s.envtestCPU)
	available := newMeasure(fmt.Sprintf("embedded: Deployment of %d Available", replicas), "ms", s.available)
	cpu := newMeasure("embedded: CPU time until then", "ms", s.cpuTotal)
	memory := newMeasure("embedded: resident memory", "MiB", s.memory)
	destroy := newMeasure("embedded: Destroy", "ms", s.destroy)
	return Report{
		Title:    fmt.Sprintf("The embedded cluster against envtest, taking turns: %d runs of each, warm-up not counted", len(s.envtest)),
		Machine:  machine,
		Measures: slices.Concat([]Measure{bare, bareCPU, available, cpu}, s.cpuMeasures(), []Measure{memory, destroy}),
		Aims: []Aim{
			NewAim("start, embedded to envtest (minima)", available.Min/bare.Min, ratioLimit, ""),
			NewAim("CPU time, embedded to envtest (minima)", cpu.Min/bareCPU.Min, cpuRatioLimit, ""),
			NewAim("memory of all processes (max)", memory.Max, memoryLimit, memory.Unit),
			NewAim("destroy (median)", destroy.Median, destroyLimit, destroy.Unit),
		},
	}
}

// cpuMeasures splits the CPU time of the embedded cluster by process.
func (s *clusterSamples) cpuMeasures() []Measure {
	var measures []Measure
	for _, process := range slices.Sorted(maps.Keys(s.cpu)) {
		measures = append(measures, newMeasure("  "+process, "ms", s.cpu[process]))
	}
	return measures
}

// measureEnvtest returns what one start of envtest takes.
func measureEnvtest(ctx context.Context, o ClusterOptions, round string) (life envtestLife, err error) {
	if ctx.Err() != nil {
		return envtestLife{}, context.Cause(ctx)
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
	environment.ControlPlane.Etcd = &envtest.Etcd{}
	environment.ControlPlane.Etcd.Path = filepath.Join(o.Assets, embedded.Etcd)

	// It can't be told to give up, so it is stopped once it has started: nothing of it may be left.
	life.start, err = telling(o.Progress, round+": envtest starts", func() error {
		_, err := environment.Start()
		return err
	})
	_, stopped := telling(o.Progress, round+": envtest stops", environment.Stop)
	if ctx.Err() != nil {
		return envtestLife{}, errors.Join(context.Cause(ctx), stopped)
	}
	life.cpu = usedSince(self, syscall.RUSAGE_SELF) + usedSince(children, syscall.RUSAGE_CHILDREN)
	return life, errors.Join(err, stopped)
}

// measureEmbedded returns what one embedded cluster takes.
func measureEmbedded(ctx context.Context, o ClusterOptions, round string) (life clusterLife, err error) {
	cluster := embedded.NewProvider()
	cluster.WithName(clusterName).WithPath(o.Assets).WithOpts(embedded.WithCRDs(o.CRDs))
	self := usedSince(0, syscall.RUSAGE_SELF)
	started, err := telling(o.Progress, round+": the embedded cluster starts", func() error {
		_, err := cluster.Create(ctx)
		return err
	})
	if err != nil {
		return clusterLife{}, err
	}
	defer func() {
		var failed error
		life.destroy, failed = telling(o.Progress, round+": the embedded cluster is destroyed", func() error {
			return cluster.Destroy(context.WithoutCancel(ctx))
		})
		err = errors.Join(err, failed)
	}()
	became, err := telling(o.Progress, round+": the Deployment becomes Available", func() error {
		return untilAvailable(ctx, cluster.KubernetesRestConfig())
	})
	if err != nil {
		return clusterLife{}, err
	}
	life.available = started + became
	life.cpu, life.memory, err = usageOf(ctx, cluster.Supervisor(), usedSince(self, syscall.RUSAGE_SELF))
	return life, err
}
