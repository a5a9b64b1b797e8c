package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/pool"
	"github.com/example/operator-testbed/e2e/interrupt"
)

func newPool() *cobra.Command {
	command := &cobra.Command{
		Use:   "pool",
		Short: "Share embedded clusters between suites that run one after another",
	}
	command.AddCommand(newPoolWith())
	return command
}

func newPoolWith() *cobra.Command {
	command := &cobra.Command{
		Use:   "with COMMAND [ARGUMENT...]",
		Short: "Lend embedded clusters to the suites that a command runs, and take them down when the command exits",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) (err error) {
			ctx := command.Context()
			clusters, err := pool.Start(ctx, os.Stderr)
			if err != nil {
				return interrupt.Explain(ctx, err, "nothing is left running")
			}
			defer func() {
				err = errors.Join(err, clusters.Close(context.WithoutCancel(ctx)))
				if done := clusters.Stats(); done.Lent > 0 {
					fmt.Fprintf(os.Stderr, "pool: %d suites ran on %d clusters\n", done.Lent, done.Started)
				}
			}()
			with := exec.Command(args[0], args[1:]...)
			with.Env = append(os.Environ(), pool.Variable+"="+clusters.Dir())
			with.Stdin, with.Stdout, with.Stderr = os.Stdin, os.Stdout, os.Stderr
			return clusters.Run(ctx, with)
		},
	}
	command.Flags().SetInterspersed(false) // what comes after the command's name is the command's
	return command
}
