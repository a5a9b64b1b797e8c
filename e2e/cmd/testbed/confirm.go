package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/confirm"
)

func newConfirm() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm",
		Short: "Show which cluster of yours kubectl reaches, and ask whether to work on it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := confirmed(command.Context())
			return err
		},
	}
}

// confirmed returns the existing cluster that KUBECONFIG leads to, once the
// user has seen which it is and agreed.
func confirmed(ctx context.Context) (*existing.Provider, error) {
	cluster := existing.NewProvider()
	if _, err := cluster.Create(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "CLUSTER=existing is the context %s of %s: %s\n",
		cluster.GetKubectlContext(), cluster.GetKubeconfig(), cluster.KubernetesRestConfig().Host)
	if os.Getenv("YES") == "1" {
		return cluster, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, errors.New("without a terminal, nobody can be asked whether to work on that cluster: set YES=1 to agree")
	}
	return cluster, confirm.Ask(ctx, os.Stdin, os.Stderr, "Work on this cluster? [y/N] ")
}
