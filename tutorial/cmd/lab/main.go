// Command lab is the learner's loop: make start, make check.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab: %v\n", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var stage, dir string
	withDir := func(run func(ctx context.Context) error) func(*cobra.Command, []string) error {
		return func(command *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("name the folder of your copy: DIR=folder")
			}
			return run(command.Context())
		}
	}
	start := &cobra.Command{
		Use: "start", Short: "Make a copy of what a chapter begins with", Args: cobra.NoArgs,
		RunE: withDir(func(ctx context.Context) error { return lab.Start(ctx, ".", stage, dir, os.Stdout) }),
	}
	start.Flags().StringVar(&stage, "stage", "", "the chapter's name")
	check := &cobra.Command{
		Use: "check", Short: "Run the chapter's suite against a copy", Args: cobra.NoArgs,
		RunE: withDir(func(ctx context.Context) error { return lab.Check(ctx, ".", dir, os.Stdout) }),
	}
	root := &cobra.Command{Use: "lab", Short: "The learner's loop", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringVar(&dir, "dir", "", "the folder of the copy")
	root.AddCommand(start, check)
	return root
}
