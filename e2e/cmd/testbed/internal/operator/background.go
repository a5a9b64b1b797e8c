package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/framework/runner/probe"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Name is the name of the operator's process and of its log.
const Name = "operator"

// ErrNotRunning is the error of [Ready] when no operator runs beside the cluster.
var ErrNotRunning = errors.New("the operator does not run")

// settling is how long an operator that runs already may take to be ready: it may have restarted a moment ago.
const settling = 15 * time.Second

// Ensure sees to it that the program runs on the cluster of config, under the
// cluster's own supervisor, and returns when it is ready. One that runs already
// is left alone if it is the same build, and replaced otherwise; started says
// which. The program's CustomResourceDefinitions must be served.
func Ensure(ctx context.Context, config *rest.Config, sup *supervisor.Supervisor, program Program) (started bool, err error) {
	build, err := digest(program.Binary)
	if err != nil {
		return false, err
	}
	running, err := isRunning(ctx, sup)
	if err != nil {
		return false, err
	}
	if running {
		if known, err := readRun(sup); err == nil && known.Build == build {
			return false, waitUntilReady(ctx, sup)
		}
		if err := sup.Stop(ctx, Name); err != nil {
			return false, err
		}
	}
	operator, err := start(ctx, config, sup, program, true)
	if err != nil {
		return false, err
	}
	return true, writeRun(sup, run{Build: build, Health: operator.Replicas()[0].HealthAddress()})
}

// Ready returns nil if the operator that [Ensure] has started is ready, or else why it is not.
func Ready(ctx context.Context, sup *supervisor.Supervisor) error {
	running, err := isRunning(ctx, sup)
	if err != nil {
		return err
	}
	known, err := readRun(sup)
	if !running || errors.Is(err, fs.ErrNotExist) {
		return ErrNotRunning
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	return probe.Ready(ctx, known.Health)
}

// probeTimeout is how long the operator may take to answer a readiness probe.
const probeTimeout = time.Second

// waitUntilReady waits until the operator is ready.
func waitUntilReady(ctx context.Context, sup *supervisor.Supervisor) error {
	bounded, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	var err error
	for range watch.Poll(bounded, 100*time.Millisecond) {
		if err = Ready(bounded, sup); err == nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the operator runs already and is not ready: %w", err)
}

// run is what is known about the process that [Ensure] has started.
type run struct {
	// Build identifies the executable.
	Build string `json:"build"`
	// Health is the host:port of its probes.
	Health string `json:"health"`
}

// runFile is where the run is recorded. In the supervisor's directory, it goes when the process does.
func runFile(sup *supervisor.Supervisor) string { return filepath.Join(sup.Dir(), Name+".json") }

func readRun(sup *supervisor.Supervisor) (known run, err error) {
	content, err := os.ReadFile(runFile(sup))
	if err == nil {
		err = json.Unmarshal(content, &known)
	}
	return known, err
}

func writeRun(sup *supervisor.Supervisor, known run) error {
	content, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return os.WriteFile(runFile(sup), content, 0o600)
}

// start runs the program under sup, with the changes. Its webhooks are called where the cluster is an embedded one.
func start(ctx context.Context, config *rest.Config, sup *supervisor.Supervisor, program Program, embedded bool, changes ...runner.Change) (*runner.Operator, error) {
	return runner.Start(ctx, runner.Options{
		Name:       Name,
		Config:     config,
		Supervisor: sup,
		Manifests:  program.Manifests,
		Binary:     program.Binary,
		Own:        true, // it was built just now, by the one who runs it
		Webhooks:   embedded,
	}, changes...)
}

func isRunning(ctx context.Context, sup *supervisor.Supervisor) (bool, error) {
	p, found, err := sup.Find(ctx, Name)
	return found && (p.State == supervisor.Running || p.State == supervisor.Paused), err
}
