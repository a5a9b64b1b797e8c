package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/interrupt"
)

func newKind(g *global) *cobra.Command {
	command := &cobra.Command{
		Use:   "kind",
		Short: "The same for a kind cluster, whose nodes run containers",
	}
	command.AddCommand(
		newUp(g, "kind cluster", onKind, "The operator, as an image:      make docker-build docker-push deploy%s",
			func(ctx context.Context, out *report) error {
				cluster := kind.NewProvider()
				cluster.WithName(g.name).WithOpts(kind.WithProgress(out.steps("Cluster")), kind.WithRegistry())
				if _, err := cluster.Create(ctx); err != nil {
					return err
				}
				out.step("Cluster", "%s is up", g.name)
				return nil
			}),
		newDown("kind cluster", func(ctx context.Context) (string, error) {
			_, attached := kind.Attach(ctx, g.name)
			// One that is not up may be there in part.
			cluster := kind.NewProvider()
			cluster.WithName(g.name)
			became := "The kind cluster %s is down. Nothing of it is left but its images, in Docker."
			if errors.As(attached, new(*kind.NotUpError)) {
				became = "No kind cluster called %s is up, and nothing is left of one."
			}
			return fmt.Sprintf(became, g.name), cluster.Destroy(ctx)
		}),
		newEnv("kind cluster", onKind, func(ctx context.Context) (support.E2EClusterProvider, error) { return kind.Attach(ctx, g.name) }),
		newKindCheck(), newKindWith(g), newKindPrepare(), newKindLoad(g), newKindStock(g))
	return command
}

// onKind is what a make command needs to be about a kind cluster, besides its name.
const onKind = " CLUSTER=kind"

func newKindCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Report why Docker can't be used",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := kind.CheckDocker(command.Context()); err != nil {
				return fmt.Errorf("%w; make e2e CLUSTER=embedded needs none", err)
			}
			return nil
		},
	}
}

func newKindWith(g *global) *cobra.Command {
	command := &cobra.Command{
		Use:   "with COMMAND [ARGUMENT...]",
		Short: "Bring a kind cluster up for a command, and take it down when the command exits, unless KEEP=1 is set",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) (err error) {
			ctx := command.Context()
			cluster := kind.NewProvider()
			cluster.WithName(g.name).WithOpts(kind.WithProgress(os.Stderr), kind.Temporary())
			if os.Getenv("KEEP") == "1" {
				cluster.WithOpts(kind.Keep())
			}
			if _, err := cluster.Create(ctx); err != nil {
				return interrupt.Explain(ctx, err, "nothing is left running")
			}
			defer func() {
				if kept := cluster.Kept(); kept != "" {
					fmt.Fprintln(os.Stderr, kept)
				}
				err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx)))
			}()
			with := exec.CommandContext(ctx, args[0], args[1:]...)
			// It gets one signal to stop, and is waited for.
			with.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			with.Cancel = func() error { return syscall.Kill(-with.Process.Pid, syscall.SIGINT) }
			with.Stdin, with.Stdout, with.Stderr = os.Stdin, os.Stdout, os.Stderr
			return with.Run()
		},
	}
	command.Flags().SetInterspersed(false) // what comes after the command's name is the command's
	return command
}

func newKindPrepare() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare IMAGE",
		Short: "Pull or make the image of the nodes and one to bring to them, before clusters need them",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return kind.Prepare(command.Context(), os.Stderr, memcachedVariable, args[0])
		},
	}
}

// memcachedVariable is the environment variable that names another image of memcached.
const memcachedVariable = "MEMCACHED_IMAGE"

func newKindLoad(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE",
		Short: "Bring an image of Docker's to the nodes of the kind cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			cluster, err := kind.Attach(command.Context(), g.name)
			if err != nil {
				return err
			}
			return cluster.LoadImage(command.Context(), args[0])
		},
	}
}

func newKindStock(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "stock IMAGE",
		Short: "Bring an image, pulled or made from source, to the nodes of the kind cluster, and print its name",
		Args:  cobra.ExactArgs(1),
		RunE: prints(func(ctx context.Context, args []string) (string, error) {
			cluster, err := kind.Attach(ctx, g.name)
			if err != nil {
				return "", err
			}
			cluster.WithOpts(kind.WithProgress(os.Stderr))
			found, err := cluster.Stock(ctx, memcachedVariable, args[0])
			return found + "\n", err
		}),
	}
}
