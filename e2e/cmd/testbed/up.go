package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/demo"
)

func newUp(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return up(command.Context(), g)
		},
	}
}

func up(ctx context.Context, g *global) error {
	out := newReport(demo.ScreenOn(os.Stdout))
	if _, err := embedded.Assets(ctx, os.Stderr); err != nil {
		return afterStop(ctx, err, "nothing is left running, and what was built is kept")
	}
	cluster, err := create(ctx, g, out)
	if alreadyUp := new(embedded.AlreadyUpError); errors.As(err, &alreadyUp) {
		return fmt.Errorf("the cluster %s is already up: use it with eval \"$(make -s env%s)\", or take it down first with make down%[2]s", g.name, ofName(g.name))
	}
	if err != nil {
		return afterStop(ctx, err, "nothing is left running")
	}
	if err := leave(ctx, cluster); err != nil {
		return err
	}
	out.step("Cluster", "%s is up: Kubernetes %s", g.name, embedded.Version)
	out.line("")
	out.line("kubectl for it, in this shell:  eval \"$(make -s env%s)\"", ofName(g.name))
	out.line("To take it down:                make down%s", ofName(g.name))
	return nil
}

// create brings a cluster up, with the CustomResourceDefinitions in files and
// folders, that ends with this process until it is detached.
func create(ctx context.Context, g *global, out *report, crds ...string) (*embedded.Provider, error) {
	cluster := embedded.NewProvider()
	cluster.WithName(g.name).WithOpts(embedded.WithCRDs(crds...), embedded.WithProgress(out.steps("Cluster")))
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
		return afterStop(ctx, errors.Join(err, failed), failed.Error())
	}
	return afterStop(ctx, err, "nothing is left running")
}
