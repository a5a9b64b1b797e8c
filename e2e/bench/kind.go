package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// kindRatioLimit is how much longer a kind cluster of the testbed may take until nodes, CoreDNS and storage are ready than kind itself
// takes until it reports the control plane as ready.
const kindRatioLimit = 1.5

const (
	bareKind = "kind create cluster --wait"
	ourKind  = "make up CLUSTER=kind: nodes, CoreDNS and storage ready"
)

// Kind measures how long a kind cluster of the testbed takes until it is ready, compared with kind without the testbed, with the same
// image and the same configuration. The two take turns, after a run that warms the machine up. Progress gets a line for each step.
//
// When ctx ends, what runs is stopped first, and no container is left.
func Kind(ctx context.Context, runs int, progress io.Writer) (Report, error) {
	if err := kind.CheckDocker(ctx); err != nil {
		return Report{}, err
	}
	image, err := kind.NodeImage(ctx, progress)
	if err != nil {
		return Report{}, err
	}
	// The clusters that are measured take this one without looking for it again.
	if err := os.Setenv(kind.NodeImageVariable, image); err != nil {
		return Report{}, err
	}
	report := Report{
		Title:   fmt.Sprintf("The testbed's kind cluster against kind alone, taking turns: %d runs of each, warm-up not counted", runs),
		Machine: fmt.Sprintf("%s/%s, %d CPUs, nodes of %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), image),
	}
	err = report.measure(progress, runs, func(r *run) error {
		bare := kind.NewProvider()
		bare.WithName(clusterName)
		var took time.Duration
		if _, err := r.time("kind alone", func() (err error) {
			took, err = bare.Bare(ctx, image)
			return err
		}); err != nil {
			return err
		}
		r.keepTime(bareKind, took)
		ours := kind.NewProvider()
		ours.WithName(clusterName).WithOpts(kind.Temporary(), kind.Complete())
		took, err := r.create(ctx, "the testbed", ours)
		if err != nil {
			return err
		}
		r.keepTime(ourKind, took)
		return ours.Destroy(context.WithoutCancel(ctx))
	})
	if err == nil {
		report.holdKind()
	}
	return report, err
}

func (r *Report) holdKind() {
	r.Aims = []Aim{NewAim("ready, ours to kind's (medians)", r.of(ourKind).Median/r.of(bareKind).Median, kindRatioLimit, "")}
}
