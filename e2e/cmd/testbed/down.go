package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/host/home"
)

// newDown makes the command that takes a cluster down. The function take returns what became of it.
func newDown(noun string, take func(context.Context) (became string, err error)) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take the " + noun + " down, with everything that runs on it",
		Args:  cobra.NoArgs,
		RunE: prints(func(ctx context.Context, _ []string) (string, error) {
			became, err := take(ctx)
			if err == nil {
				tidy()
			}
			return became + "\n", err
		}),
	}
}

// down takes an embedded cluster down.
func down(ctx context.Context, name string) (became string, err error) {
	cluster, err := embedded.Attach(name)
	if errors.As(err, new(*embedded.NotUpError)) {
		return "No cluster called " + name + " is up: there is nothing to take down.", nil
	}
	if err != nil {
		return "", err
	}
	cache, err := home.Cache()
	return fmt.Sprintf("The cluster %s is down, and its data is removed. What was built stays in %s; evidence of failures and the record of your progress stay as well.", name, cache), errors.Join(err, cluster.Destroy(ctx))
}

// tidy removes the directories of the state if nothing is in them any more. Other
// clusters may be up, so failing to is not an error.
func tidy() {
	state, err := home.State()
	if err != nil {
		return
	}
	for _, directory := range []string{filepath.Join(state, "clusters"), filepath.Join(state, "kind"), filepath.Join(state, "run"), state} {
		os.Remove(directory)
	}
}
