package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/rollout"
)

func newRollout() *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "rollout NAMESPACE/DEPLOYMENT",
		Short: "Wait until the pods of a Deployment are available, or report at once why they can't start",
		Long: `Waits for a Deployment of the cluster that KUBECONFIG leads to, as
"kubectl rollout status" does. It fails as soon as a container of the new pods
can't start, and prints the reason, the end of its log, and its events.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			namespace, name, found := strings.Cut(args[0], "/")
			if !found {
				return usageError{fmt.Errorf("%q names no Deployment: use NAMESPACE/NAME", args[0])}
			}
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			ctx, cancel := context.WithTimeoutCause(command.Context(), timeout, fmt.Errorf("it took longer than %v", timeout))
			defer cancel()
			if _, err := rollout.Available(ctx, config, client.ObjectKey{Namespace: namespace, Name: name}); err != nil {
				return fmt.Errorf("the Deployment %s is not rolled out: %w", args[0], err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "deployment %q successfully rolled out\n", name) // as kubectl does
			return err
		},
	}
	command.Flags().DurationVar(&timeout, "timeout", 3*time.Minute, "how long to wait for pods that may still start")
	return command
}
