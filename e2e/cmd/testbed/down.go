package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/kind/home"
)

func newDown(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take the cluster down, with everything that runs on it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, out := command.Context(), command.OutOrStdout()
			cluster, err := embedded.Attach(g.name)
			if notUp := new(embedded.NotUpError); errors.As(err, &notUp) {
				fmt.Fprintf(out, "No cluster called %s is up: there is nothing to take down.\n", g.name)
				return nil
			}
			if err != nil {
				return err
			}
			if err := cluster.Destroy(ctx); err != nil {
				return err
			}
			cache, err := home.Cache()
			if err != nil {
				return err
			}
			tidy()
			fmt.Fprintf(out, "The cluster %s is down. Nothing of it is left but what was built, in %s.\n", g.name, cache)
			return nil
		},
	}
}

// tidy removes the folders of the state if nothing is in them any more. Other
// clusters may be up, so failing to is no error.
func tidy() {
	state, err := home.State()
	if err != nil {
		return
	}
	for _, folder := range []string{filepath.Join(state, "clusters"), filepath.Join(state, "kind"), filepath.Join(state, "run"), state} {
		os.Remove(folder)
	}
}
