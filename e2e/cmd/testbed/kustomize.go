package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

func newKustomize() *cobra.Command {
	return &cobra.Command{
		Use:   "kustomize DIRECTORY",
		Short: "Print what a kustomization renders, as kubectl does, without kubectl",
		Args:  cobra.ExactArgs(1),
		RunE: prints(func(_ context.Context, args []string) (string, error) {
			manifests, err := manifest.Render(args[0])
			if err != nil {
				return "", err
			}
			content, err := manifests.YAML()
			return string(content), err
		}),
	}
}
