package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/demo"
	"github.com/example/operator-testbed/e2e/interrupt"
)

// newUp makes the command that brings a cluster up and leaves it running. Messages call the cluster noun; a make command is about
// it by the setting, besides its name. The hint is a line on what else can be done with it.
func newUp(g *global, noun, setting, hint string, create func(context.Context, *report) error) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Bring a " + noun + " up and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, out, about := command.Context(), newReport(demo.ScreenOn(os.Stdout)), setting+ofName(g.name)
			err := create(ctx, out)
			if errors.As(err, new(*embedded.AlreadyUpError)) || errors.As(err, new(*kind.AlreadyUpError)) {
				return fmt.Errorf("the %s %s is already up: use it with eval \"$(make -s env%s)\", or take it down first with make down%[3]s", noun, g.name, about)
			}
			if err != nil {
				return interrupt.Explain(ctx, err, "nothing is left running")
			}
			out.line("")
			out.line("kubectl for it, in this shell:  eval \"$(make -s env%s)\"", about)
			if hint != "" {
				out.line(hint, about)
			}
			out.line("To take it down:                make down%s", about)
			return nil
		},
	}
}

// up brings up an embedded cluster that stays.
func up(ctx context.Context, g *global, out *report) error {
	if _, err := embedded.AssetsOf(ctx, g.kubernetes(), os.Stderr); err != nil {
		return interrupt.Explain(ctx, err, "nothing is left running, and what was built is kept")
	}
	cluster, err := create(ctx, g, out)
	if err != nil {
		return err
	}
	if err := leave(ctx, cluster); err != nil {
		return err
	}
	out.step("Cluster", "%s is up: Kubernetes %s", g.name, cluster.Version())
	return nil
}

// create brings a cluster up, with the CustomResourceDefinitions in files and
// directories, that ends with this process until it is detached.
func create(ctx context.Context, g *global, out *report, crds ...string) (*embedded.Provider, error) {
	cluster := embedded.NewProvider()
	cluster.WithName(g.name).WithVersion(g.kubernetes()).WithOpts(embedded.WithCRDs(crds...), embedded.WithProgress(out.steps("Cluster")))
	_, err := cluster.Create(ctx)
	return cluster, err
}

// leave lets a cluster that create made outlive this process. If a signal came
// first, the cluster goes: nobody has seen it yet, so nobody misses it.
func leave(ctx context.Context, cluster *embedded.Provider) error {
	err := context.Cause(ctx)
	if err == nil {
		err = cluster.Supervisor().Detach(ctx)
	}
	if err == nil {
		return nil
	}
	if failed := cluster.Destroy(context.WithoutCancel(ctx)); failed != nil {
		return interrupt.Explain(ctx, errors.Join(err, failed), failed.Error())
	}
	return interrupt.Explain(ctx, err, "nothing is left running")
}
