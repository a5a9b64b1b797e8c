package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/interrupt"
)

func newRun(g *global) *cobra.Command {
	var onExisting bool
	var directory string
	var debugger operator.Debugger
	command := &cobra.Command{
		Use:   "run",
		Short: "Run the operator in the foreground, as its own ServiceAccount, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runOperator(command.Context(), g, directory, onExisting, debugger)
		},
	}
	command.Flags().StringVar(&directory, "operator", operator.Finished, "directory of the operator: this clone's own, a chapter's, or a copy")
	command.Flags().BoolVar(&onExisting, "existing", false, "run it on the cluster of KUBECONFIG; asks first")
	command.Flags().StringVar(&debugger.Path, "debugger", "", "executable of Delve, which attaches to the operator")
	command.Flags().StringVar(&debugger.Address, "debug-address", "127.0.0.1:2345", "host:port that Delve listens on")
	return command
}

func runOperator(ctx context.Context, g *global, directory string, onExisting bool, debugger operator.Debugger) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	foreground := operator.Foreground{
		Resident: func(ctx context.Context) (operator.Program, error) {
			return operator.Build(ctx, root, operator.Finished)
		},
		Title:    operator.Title(directory),
		Debugger: debugger,
		Log:      os.Stdout,
		Say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "testbed: "+format+"\n", args...)
		},
	}
	if onExisting {
		at := directory
		if !filepath.IsAbs(at) {
			at = filepath.Join(root, at)
		}
		cluster, err := confirmed(ctx, intent{target: "run", operator: at})
		if err != nil {
			return err
		}
		foreground.Cluster, foreground.Config = existing.Kind, cluster.KubernetesRestConfig()
	} else {
		cluster, err := g.attachReady(ctx)
		if err != nil {
			return err
		}
		foreground.Cluster, foreground.Config, foreground.Beside = g.name, cluster.KubernetesRestConfig(), cluster.Supervisor()
	}
	build := operator.Build
	if debugger.Path != "" {
		build = operator.BuildForDebugger
	}
	foreground.Say("compiling %s", foreground.Title)
	if foreground.Program, err = build(ctx, root, directory); err != nil {
		return err
	}
	return interrupt.Explain(ctx, foreground.Run(ctx), "the operator has ended")
}
