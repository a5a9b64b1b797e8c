package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/logtail"
)

func newLogs(g *global) *cobra.Command {
	var follow bool
	var lines int
	command := &cobra.Command{
		Use:   "logs [component]",
		Short: "Show the log of a component, or which ones there are",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			ctx, out := command.Context(), command.OutOrStdout()
			cluster, err := g.attach()
			if err != nil {
				return err
			}
			logs, err := logsOf(ctx, cluster)
			if err != nil {
				return err
			}
			return showLogs(ctx, out, logs, strings.Join(args, ""), lines, follow)
		},
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "follow the log until Ctrl-C")
	command.Flags().IntVarP(&lines, "lines", "n", -1, "number of lines to show from the end; -1 for all")
	return command
}

// logFile is the log of one component.
type logFile struct{ component, path string }

// logsOf returns the logs of the cluster's processes in the order of their
// start, the supervisor's own and the API server's audit log.
func logsOf(ctx context.Context, cluster *embedded.Provider) ([]logFile, error) {
	sup := cluster.Supervisor()
	processes, err := sup.Status(ctx)
	if err != nil {
		return nil, err
	}
	var logs []logFile
	for _, p := range processes {
		logs = append(logs, logFile{p.Name, sup.LogFile(p.Name)})
	}
	return append(logs, logFile{"supervisor", sup.LogFile("supervisor")}, logFile{"audit", cluster.AuditLog()}), nil
}

func listLogs(out io.Writer, logs []logFile) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, log := range logs {
		fmt.Fprintf(table, "%s\t%s\n", log.component, log.path)
	}
	return table.Flush()
}

// showLogs shows the log of a component. Without one, it lists which logs there are.
func showLogs(ctx context.Context, out io.Writer, logs []logFile, component string, lines int, follow bool) error {
	if component == "" {
		return listLogs(out, logs)
	}
	i := slices.IndexFunc(logs, func(log logFile) bool { return log.component == component })
	if i < 0 {
		var names []string
		for _, log := range logs {
			names = append(names, log.component)
		}
		return usageError{fmt.Errorf("there is no component %q: choose one of %s", component, strings.Join(names, ", "))}
	}
	offset, err := logtail.Last(out, logs[i].path, lines)
	if err != nil || !follow {
		return err
	}
	if err := logtail.Follow(ctx, out, logs[i].path, offset); err != nil {
		return err
	}
	return context.Cause(ctx)
}
