package operator

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Name is the name of the operator's process and of its log.
const Name = "operator"

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
	// Kept in the supervisor's directory, it goes when the process does.
	record := filepath.Join(sup.Dir(), Name+".sha256")
	if running {
		if known, err := os.ReadFile(record); err == nil && string(known) == build {
			return false, nil
		}
		if err := sup.Stop(ctx, Name); err != nil {
			return false, err
		}
	}
	if _, err := start(ctx, config, sup, program, true); err != nil {
		return false, err
	}
	return true, os.WriteFile(record, []byte(build), 0o600)
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
