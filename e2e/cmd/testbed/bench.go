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
)

func newBench() *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the testbed is, and hold the numbers against the aims",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBenchCluster(), newBenchKind(), newBenchOperator())
	return command
}

func newBenchCluster() *cobra.Command {
	return withRuns(&cobra.Command{
		Use:   "cluster",
		Short: "Measure the embedded cluster against envtest",
		Long: `Measures how long an embedded cluster takes from nothing to a Deployment that is
Available, its memory and its end, against the start of controller-runtime's
envtest with the same executables. An aim that is missed is no failure.`,
	}, 5, benchCluster)
}

func newBenchKind() *cobra.Command {
	return withRuns(&cobra.Command{
		Use:   "kind",
		Short: "Measure a kind cluster against kind alone, and the images",
		Long: `Measures how long a kind cluster takes until its nodes, CoreDNS and storage are
ready, against kind create cluster --wait with the same image; make docker-build
and its image; and the second make node-image. An aim that is missed is no
failure.`,
	}, 3, benchKind)
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
		report, err := measure(command.Context(), runs)
		if err != nil {
			return afterStop(command.Context(), err, "nothing is left running")
		}
		if asJSON {
			return report.WriteJSON(command.OutOrStdout())
		}
		return report.WriteTable(command.OutOrStdout())
	}
	command.Flags().IntVar(&runs, "runs", usual, "how often each is measured")
	command.Flags().BoolVar(&asJSON, "json", false, "print the report, samples included, as JSON")
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
	// envtest logs with it, and complains after a while if nobody said where to.
	ctrl.SetLogger(logr.Discard())
	defer tidy()
	options := bench.ClusterOptions{
		Assets:   assets,
		CRDs:     filepath.Join(root, "operator", "config", "crd", "bases"),
		Runs:     runs,
		Progress: os.Stderr,
	}
	report, err := bench.Cluster(ctx, options)
	if err == nil {
		err = report.AddReset(ctx, options)
	}
	return report, err
}

func benchKind(ctx context.Context, runs int) (bench.Report, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return bench.Report{}, err
	}
	defer tidy()
	return bench.Kind(ctx, bench.KindOptions{Root: root, Runs: runs, Progress: os.Stderr})
}
