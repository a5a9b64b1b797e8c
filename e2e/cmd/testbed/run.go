package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/repository"
	"github.com/example/operator-testbed/e2e/runner"
)

func newRun(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the operator in the foreground, as its own ServiceAccount, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runOperator(command.Context(), g)
		},
	}
}

func runOperator(ctx context.Context, g *global) error {
	root, err := repository.Root(".")
	if err != nil {
		return err
	}
	cluster, err := g.attach()
	if err != nil {
		return err
	}
	program, err := operator.Build(ctx, root)
	if err != nil {
		return err
	}
	config := cluster.KubernetesRestConfig()
	if err := runner.Define(ctx, config, program.Manifests); err != nil {
		return err
	}
	err = operator.Foreground{
		Cluster: g.name,
		Config:  config,
		Beside:  cluster.Supervisor(),
		Program: program,
		Log:     os.Stdout,
		Say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "testbed: "+format+"\n", args...)
		},
	}.Run(ctx)
	return afterStop(ctx, err, "the operator has ended")
}
