package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// What the testbed should keep to where it works with Docker.
const (
	// kindRatioLimit is how much longer a kind cluster of the testbed may take until nodes, CoreDNS and storage are ready than
	// kind itself takes until it calls the control plane ready.
	kindRatioLimit = 1.5
	// dockerBuildLimit is in milliseconds, for `make docker-build` with everything compiled.
	dockerBuildLimit = 5000
	// imageLimit is in MiB, for the operator's image.
	imageLimit = 60
	// nodeImageLimit is in milliseconds, for `make node-image` when there is nothing to do.
	nodeImageLimit = 3000
)

// operatorImage is what the measured docker-build builds, and nobody needs.
const operatorImage = "operator-testbed/operator:bench"

// KindOptions say how the work with Docker is measured.
type KindOptions struct {
	// Root is the repository's folder.
	Root string
	// Runs is how often each is measured, after a run that warms the machine up.
	Runs int
	// Progress gets a line for each step.
	Progress io.Writer
}

// Kind measures how long a kind cluster of the testbed takes until it is ready against kind alone, with the same image and the
// same configuration, taking turns; the second `make node-image`; and `make docker-build` and its image.
//
// When ctx ends, what runs is ended first, and no container is left.
func Kind(ctx context.Context, o KindOptions) (Report, error) {
	if err := kind.CheckDocker(ctx); err != nil {
		return Report{}, err
	}
	var samples kindSamples
	image, err := measureNodeImage(ctx, o, &samples)
	if err != nil {
		return Report{}, err
	}
	// What is measured takes this one, as a user's would.
	if err := os.Setenv(kind.NodeImageVariable, image); err != nil {
		return Report{}, err
	}
	if err := measureDockerBuild(ctx, o, &samples); err != nil {
		return Report{}, err
	}
	for run := range o.Runs + 1 {
		round := roundOf(run, o.Runs)
		bare, err := measureBare(ctx, o, round, image)
		if err != nil {
			return Report{}, err
		}
		ready, err := measureReady(ctx, o, round)
		if err != nil {
			return Report{}, err
		}
		if run > 0 {
			samples.bare, samples.ready = append(samples.bare, milliseconds(bare)), append(samples.ready, milliseconds(ready))
		}
	}
	return samples.report(fmt.Sprintf("%s/%s, %d CPUs, nodes of %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), image)), nil
}

// kindSamples are the samples of all runs.
type kindSamples struct {
	bare, ready, dockerBuild, size, nodeImage []float64
}

// report holds the medians against the aims. Of the image's size there is one sample.
func (s *kindSamples) report(machine string) Report {
	bare := newMeasure("kind create cluster --wait", "ms", s.bare)
	ready := newMeasure("make up CLUSTER=kind: nodes, CoreDNS and storage ready", "ms", s.ready)
	build := newMeasure("make docker-build, compiled before", "ms", s.dockerBuild)
	size := newMeasure("the operator's image", "MiB", s.size)
	measures := []Measure{bare, ready, build, size}
	aims := []Aim{
		NewAim("ready, ours to kind's (medians)", ready.Median/bare.Median, kindRatioLimit, ""),
		NewAim("make docker-build (median)", build.Median, dockerBuildLimit, build.Unit),
		NewAim("the operator's image", size.Max, imageLimit, size.Unit),
	}
	if len(s.nodeImage) > 0 {
		again := newMeasure("make node-image, nothing to do", "ms", s.nodeImage)
		measures = append(measures, again)
		aims = append(aims, NewAim("make node-image again (median)", again.Median, nodeImageLimit, again.Unit))
	}
	return Report{
		Title:    fmt.Sprintf("The testbed's kind cluster against kind alone, taking turns: %d runs of each, warm-up not counted", len(s.bare)),
		Machine:  machine,
		Measures: measures,
		Aims:     aims,
	}
}

// measureNodeImage returns the image of the nodes: the one that the environment names, or what `make node-image` makes, which is
// then measured when it has nothing left to do.
func measureNodeImage(ctx context.Context, o KindOptions, samples *kindSamples) (image string, err error) {
	if named := os.Getenv(kind.NodeImageVariable); named != "" {
		return named, nil
	}
	samples.nodeImage, err = repeated(o.Progress, "make node-image", o.Runs, func() (took time.Duration, err error) {
		image, took, err = runMake(ctx, o.Root, "node-image")
		return took, err
	})
	return image, err
}

// measureDockerBuild builds the operator's image and removes it again.
func measureDockerBuild(ctx context.Context, o KindOptions, samples *kindSamples) (err error) {
	defer func() {
		// Where none was built there is none to remove.
		_, _ = dockerPrints(context.WithoutCancel(ctx), "rmi", operatorImage)
	}()
	samples.dockerBuild, err = repeated(o.Progress, "make docker-build", o.Runs, func() (took time.Duration, err error) {
		_, took, err = runMake(ctx, o.Root, "docker-build", "IMG="+operatorImage)
		return took, err
	})
	if err != nil {
		return err
	}
	printed, err := dockerPrints(ctx, "image", "inspect", "--format={{.Size}}", operatorImage)
	if err != nil {
		return err
	}
	size, err := mebibytes(printed)
	samples.size = []float64{size}
	return err
}

// measureBare returns what kind takes alone.
func measureBare(ctx context.Context, o KindOptions, round, image string) (took time.Duration, err error) {
	p := kind.NewProvider()
	p.WithName(clusterName)
	_, err = telling(o.Progress, round+": kind alone", func() (err error) {
		took, err = p.Bare(ctx, image)
		return err
	})
	return took, err
}

// measureReady returns what the testbed takes.
func measureReady(ctx context.Context, o KindOptions, round string) (took time.Duration, err error) {
	p := kind.NewProvider()
	p.WithName(clusterName).WithOpts(kind.Temporary())
	if took, err = telling(o.Progress, round+": the testbed", func() error {
		_, err := p.Create(ctx)
		return err
	}); err != nil {
		return 0, err
	}
	return took, p.Destroy(context.WithoutCancel(ctx))
}

// runMake runs a target as a user does, and returns the last line that it prints.
func runMake(ctx context.Context, root string, args ...string) (last string, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, "make", args...)
	cmd.Dir = root
	// What this program was itself called with by make is not for another make.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "MAKEFLAGS=") || strings.HasPrefix(setting, "MAKELEVEL=") || strings.HasPrefix(setting, "MFLAGS=")
	})
	// One signal reaches all that it starts.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	begin := time.Now()
	last, err = lastLine(ctx, cmd)
	return last, time.Since(begin), err
}

// dockerPrints returns the last line that a Docker command prints.
func dockerPrints(ctx context.Context, args ...string) (string, error) {
	return lastLine(ctx, exec.CommandContext(ctx, kind.Program(), args...))
}

// lastLine returns the last line that a command prints, or as the error the last that it says.
func lastLine(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", errors.New(strings.Join(cmd.Args, " ") + ": " + cmp.Or(reasonIn(stderr.String()), err.Error()))
	}
	return lastOf(stdout.String()), nil
}

// lastOf is the last line of a text.
func lastOf(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// reasonIn is why a command failed: the last line that it told, but for make's own, which say where.
func reasonIn(told string) string {
	return lastOf(strings.Join(slices.DeleteFunc(strings.Split(told, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "make: ") || strings.HasPrefix(line, "make[")
	}), "\n"))
}

// mebibytes reads a number of bytes.
func mebibytes(bytes string) (float64, error) {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("measure the operator's image: Docker said its size is %q", bytes)
	}
	return float64(n) / (1 << 20), nil
}
