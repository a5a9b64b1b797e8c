package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/kind"
)

func newImage() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "The operator's image, and the registry that it is pushed to",
	}
	command.AddCommand(newImageCheck(), newImagePushed(), newImageEngine(), newImagePushFlags())
	return command
}

func newImageCheck() *cobra.Command {
	push := false
	command := &cobra.Command{
		Use:   "check IMAGE",
		Short: "Say what is wrong where an image can't have that name",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if push {
				return kind.CheckPush(command.Context(), args[0])
			}
			return kind.CheckName(args[0])
		},
	}
	command.Flags().BoolVar(&push, "push", false, "nor be pushed")
	return command
}

func newImagePushed() *cobra.Command {
	return &cobra.Command{
		Use:   "pushed IMAGE",
		Short: "Print the name to deploy the image by: one of the local registry by its digest",
		Args:  cobra.ExactArgs(1),
		RunE: prints(func(ctx context.Context, args []string) (string, error) {
			name, err := kind.Pushed(ctx, args[0])
			return name + "\n", err
		}),
	}
}

func newImageEngine() *cobra.Command {
	return &cobra.Command{
		Use:   "engine",
		Short: "Print the command of the container engine in which kind makes nodes",
		Args:  cobra.NoArgs,
		RunE:  prints(func(context.Context, []string) (string, error) { return kind.Program() + "\n", nil }),
	}
}

func newImagePushFlags() *cobra.Command {
	tool := ""
	command := &cobra.Command{
		Use:   "push-flags IMAGE",
		Short: "Print the flags that the container engine needs to push the image",
		Args:  cobra.ExactArgs(1),
		RunE: prints(func(_ context.Context, args []string) (string, error) {
			return strings.Join(kind.PushFlags(cmp.Or(tool, kind.Program()), args[0]), " ") + "\n", nil
		}),
	}
	command.Flags().StringVar(&tool, "tool", "", "the command of the container engine; kind's if empty")
	return command
}
