package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/demo"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/interrupt"
)

func newDemo(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Bring a cluster up, run the operator on it and show a Memcached converge",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runDemo(command.Context(), g)
		},
	}
}

func runDemo(ctx context.Context, g *global) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	screen := demo.ScreenOn(os.Stdout)
	defer screen.Close()
	out := newReport(screen)

	program, cluster, created, err := prepare(ctx, g, root, out)
	if err != nil {
		return interrupt.Explain(ctx, err, "nothing is left running, and what was built is kept")
	}
	state, err := converge(ctx, cluster, out, program, filepath.Join(root, "operator", "config", "samples"))
	screen.Close()
	if created {
		if err := leave(ctx, cluster); err != nil {
			return err
		}
	}
	if err != nil {
		return interrupt.Explain(ctx,
			fmt.Errorf("%w; the cluster stays up: look with make logs%s C=%s, take it down with make down%[2]s", err, ofName(g.name), operator.Name),
			"the cluster "+g.name+" was up before, and still is")
	}
	out.line("\n%s", state.Picture(screen.Style()))
	out.line("%s", demo.Next(state.Memcached.Name, ofName(g.name)))
	out.line("%s (after %.1f s)", state.Verdict(), time.Since(out.begin).Seconds())
	return nil
}

// stillAtWork is how often a silent build is said to go on.
const stillAtWork = 5 * time.Second

// prepare builds Kubernetes and the operator, and brings the cluster up as soon as Kubernetes is there: neither needs the operator,
// and while one waits the other can compile. If the operator can't be built, no cluster that it has created is left.
func prepare(ctx context.Context, g *global, root string, out *report) (program operator.Program, cluster *embedded.Provider, created bool, err error) {
	out.step("Build", "Kubernetes %s and the operator, if anything is new", g.kubernetes())
	ctx, abandon := context.WithCancelCause(ctx) // the cluster needs its context for as long as it is up
	compiled := make(chan error, 1)
	go func() {
		var err error
		if program, err = operator.Build(ctx, root, operator.Finished); err != nil {
			abandon(err)
		}
		compiled <- err
	}()
	cluster, created, err = reuseOrCreate(ctx, g, out, filepath.Join(root, "operator", "config", "crd", "bases"))
	if err != nil {
		abandon(err)
	}
	if waitFor(compiled, out) == nil && err == nil {
		return program, cluster, created, nil
	}
	if err == nil && created {
		err = cluster.Destroy(context.WithoutCancel(ctx))
	} else {
		err = nil // it is the cause, or follows from it
	}
	return program, nil, false, errors.Join(context.Cause(ctx), err)
}

// waitFor waits until the operator is compiled, and reports now and then that it still is.
func waitFor(compiled <-chan error, out *report) error {
	for {
		select {
		case err := <-compiled:
			return err
		case <-time.After(stillAtWork):
			out.step("Build", "the operator is still being compiled")
		}
	}
}

// reuseOrCreate returns the cluster that is up or, when Kubernetes is built, a new one that ends with this
// process until it is detached.
func reuseOrCreate(ctx context.Context, g *global, out *report, crds string) (cluster *embedded.Provider, created bool, err error) {
	cluster, err = g.attachReady(ctx)
	if err == nil && g.version != "" && cluster.Version() != string(g.version) {
		return nil, false, fmt.Errorf("the cluster %s is up with Kubernetes %s, not %s: take it down with make down%s, or choose another name with NAME=other",
			g.name, cluster.Version(), g.version, ofName(g.name))
	}
	if err == nil {
		out.step("Cluster", "%s is already up: it is used again", g.name)
		return cluster, false, nil
	}
	if notUp := new(notUpError); !errors.As(err, &notUp) {
		return nil, false, err
	}
	if _, err := embedded.ComponentsOf(ctx, g.kubernetes(), os.Stderr); err != nil {
		return nil, false, err
	}
	cluster, err = create(ctx, g, out, crds)
	return cluster, true, err
}

// converge runs the operator, applies the sample and shows what becomes of it,
// until the cluster is what it asks for.
func converge(ctx context.Context, cluster *embedded.Provider, out *report, program operator.Program, samples string) (demo.State, error) {
	config := cluster.KubernetesRestConfig()
	if err := install.CRDs(ctx, config, program.Manifests); err != nil {
		return demo.State{}, err
	}
	started, err := operator.Ensure(ctx, config, cluster.Supervisor(), program)
	if err != nil {
		return demo.State{}, err
	}
	manager, err := program.Manifests.Manager()
	if err != nil {
		return demo.State{}, err
	}
	if started {
		out.step("Operator", "runs as %s", manager.UserName())
	} else {
		out.step("Operator", "runs already, as %s", manager.UserName())
	}
	// Until it leads, the conditions are those that the last leader has written.
	err = operator.Lead(ctx, config, cluster.Supervisor(), program.Manifests, func(lease client.ObjectKey, holder string) {
		out.step("Operator", "waits for the lease %s, which %s holds", lease, holder)
	})
	if err != nil {
		return demo.State{}, err
	}
	sample, err := demo.ReadSample(samples)
	if err != nil {
		return demo.State{}, err
	}
	return demo.Show(ctx, config, sample, out.screen, out.begin, func(ctx context.Context) error {
		return operator.Ready(ctx, cluster.Supervisor())
	})
}
