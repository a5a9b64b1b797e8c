package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/demo"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func newStatus(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the clusters that are up, and the processes and the Memcacheds of one",
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
				of := ""
				if c.Version != embedded.Version {
					of = " with Kubernetes " + c.Version
				}
				fmt.Fprintf(out, "%s is up%s, %s: %s\n", c.Name, of, until, c.Kubeconfig)
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
			if err := table.Flush(); err != nil {
				return err
			}
			return writeMemcacheds(ctx, out, cluster)
		},
	}
}

// writeMemcacheds writes the conditions of the cluster's Memcacheds, if it has any, and says which of them are not about the current
// spec, and whether the operator that wrote them is ready.
func writeMemcacheds(ctx context.Context, out io.Writer, cluster *embedded.Provider) error {
	c, err := client.New(cluster.KubernetesRestConfig(), client.Options{})
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{} // so that one which can't be decoded does not hide the others
	list.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("MemcachedList"))
	if err := c.List(ctx, list); meta.IsNoMatchError(err) || err == nil && len(list.Items) == 0 {
		return nil
	} else if err != nil {
		fmt.Fprintf(out, "\nThe Memcacheds can't be read: %v\n", err)
		return nil
	}
	fmt.Fprintf(out, "\n%s\n", memcachedsOf(list.Items, operator.Ready(ctx, cluster.Supervisor())))
	return nil
}

// memcachedsOf returns the table of the Memcacheds. unready is why the operator beside the cluster is not ready, or nil.
func memcachedsOf(memcacheds []unstructured.Unstructured, unready error) string {
	var out strings.Builder
	switch {
	case errors.Is(unready, operator.ErrNotRunning):
		fmt.Fprintln(&out, "No operator runs beside the cluster. Unless another one does, such as that of make run, these conditions may be old ones.")
	case unready != nil:
		fmt.Fprintf(&out, "The operator is not ready, so these conditions may be old ones: %v\n", unready)
	}
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	types := []string{cachev1alpha1.ConditionAvailable, cachev1alpha1.ConditionProgressing, cachev1alpha1.ConditionDegraded}
	fmt.Fprintln(table, "MEMCACHED\tSIZE\t"+strings.ToUpper(strings.Join(types, "\t")))
	for i := range memcacheds {
		mc := demo.Typed[cachev1alpha1.Memcached](&memcacheds[i])
		row := []string{memcacheds[i].GetNamespace() + "/" + memcacheds[i].GetName(), fmt.Sprint(ptr.Deref(mc.Spec.Size, cachev1alpha1.DefaultSize))}
		for _, conditionType := range types {
			condition := meta.FindStatusCondition(mc.Status.Conditions, conditionType)
			if condition == nil {
				row = append(row, "-")
				continue
			}
			row = append(row, string(condition.Status)+demo.Outdated(mc, *condition))
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // into memory
	return strings.TrimSuffix(out.String(), "\n")
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
