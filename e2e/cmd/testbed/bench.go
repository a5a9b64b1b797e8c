package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/operator-testbed/e2e/bench"
	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/interrupt"
)

func newBench() *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the testbed is, and compare the figures with targets",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(
		withRuns(&cobra.Command{
			Use:   "cluster",
			Short: "Measure the embedded cluster against envtest",
			Long: `Measures how long an embedded cluster takes from nothing to a Deployment that is
Available, its memory, its end and its reset, against the start of
controller-runtime's envtest with the same executables. A target that is missed
is not a failure.`,
		}, 5, benchCluster),
		withRuns(&cobra.Command{
			Use:   "kind",
			Short: "Measure a kind cluster against kind without the testbed",
			Long: `Measures how long a kind cluster takes until its nodes, CoreDNS and storage are
ready, against kind create cluster --wait with the same image. A target that is
missed is not a failure.`,
		}, 3, func(ctx context.Context, runs int) (bench.Report, error) { return bench.Kind(ctx, runs, os.Stderr) }),
		newBenchOperator(),
		newBenchCost(),
	)
	return command
}

// withRuns completes a command that measures something a number of times and prints a report.
func withRuns(command *cobra.Command, usual int, measure func(ctx context.Context, runs int) (bench.Report, error)) *cobra.Command {
	var runs int
	var asJSON bool
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, _ []string) error {
		if runs < 1 {
			return usageError{fmt.Errorf("--runs=%d measures nothing: use 1 or more", runs)}
		}
		defer tidy()
		report, err := measure(command.Context(), runs)
		if err != nil {
			return interrupt.Explain(command.Context(), err, "nothing is left running")
		}
		if asJSON {
			return report.WriteJSON(command.OutOrStdout())
		}
		return report.WriteTable(command.OutOrStdout())
	}
	command.Flags().IntVar(&runs, "runs", usual, "number of runs of each")
	command.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON, with all samples")
	return command
}

func benchCluster(ctx context.Context, runs int) (bench.Report, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return bench.Report{}, err
	}
	assets, err := embedded.Assets(ctx, os.Stderr)
	if err != nil {
		return bench.Report{}, err
	}
	// envtest logs with it, and complains after a while if no logger was set.
	ctrl.SetLogger(logr.Discard())
	return bench.Cluster(ctx, bench.ClusterOptions{
		Assets:   assets,
		CRDs:     filepath.Join(root, "operator", "config", "crd", "bases"),
		Runs:     runs,
		Progress: os.Stderr,
	})
}
