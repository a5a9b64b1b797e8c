package main

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func newStatus(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the clusters that are up, and the processes of one",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, out := command.Context(), command.OutOrStdout()
			clusters, err := embedded.List(ctx)
			if err != nil {
				return err
			}
			if len(clusters) == 0 {
				fmt.Fprintln(out, "No cluster is up.")
				return nil
			}
			for _, c := range clusters {
				until := "until make down" + ofName(c.Name)
				if !c.Detached {
					until = "until the program that created it ends"
				}
				fmt.Fprintf(out, "%s is up, %s: %s\n", c.Name, until, c.Kubeconfig)
			}
			if !slices.ContainsFunc(clusters, func(c embedded.Cluster) bool { return c.Name == g.name }) {
				return nil
			}
			cluster, err := g.attach()
			if err != nil {
				return err
			}
			processes, err := cluster.Supervisor().Status(ctx)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "\nPROCESS\tSTATE\tPID\tRESTARTS\tSINCE")
			for _, p := range processes {
				fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", p.Name, state(p), pid(p), p.Restarts, time.Since(p.Started).Round(time.Second))
			}
			return table.Flush()
		},
	}
}

func pid(p supervisor.ProcessStatus) string {
	if p.PID == 0 {
		return "-"
	}
	return fmt.Sprint(p.PID)
}

// state is the state of a process, and how it ended if it did.
func state(p supervisor.ProcessStatus) string {
	if p.PID == 0 && p.Exit != nil {
		return fmt.Sprintf("%s (%s)", p.State, p.Exit)
	}
	return string(p.State)
}
