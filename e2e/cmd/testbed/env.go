package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/sdk"
)

// newEnv makes the command that prints what a shell needs to use a cluster that is up: the one that attach returns.
func newEnv(noun, setting string, attach func(context.Context) (support.E2EClusterProvider, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: fmt.Sprintf(`Print what a shell needs to use the %s: eval "$(make -s env%s)"`, noun, setting),
		Args:  cobra.NoArgs,
		RunE: prints(func(ctx context.Context, _ []string) (string, error) {
			cluster, err := attach(ctx)
			if err != nil {
				return "", err
			}
			// kubectl is the same for all versions of Kubernetes. It is beside the programs of this cluster, so no others are built.
			kubernetes := embedded.Version
			if of, ok := cluster.(interface{ Version() string }); ok {
				kubernetes = of.Version()
			}
			assets, err := embedded.AssetsOf(ctx, kubernetes, os.Stderr)
			return exports(cluster.GetKubeconfig(), append([]string{assets}, sdkBeside(os.Stderr)...)...), err
		}),
	}
}

// sdkBeside returns the directory with what `make sdk` has built in the clone of this executable, if it has. It reports on warnings when
// that is no longer what the clone pins.
func sdkBeside(warnings io.Writer) []string {
	tools, err := sdk.Beside()
	switch {
	case err == nil:
		return []string{string(tools)}
	case !errors.Is(err, sdk.ErrNotBuilt):
		fmt.Fprintln(warnings, err)
	}
	return nil
}

// exports is shell code that puts directories first on PATH, such as that with our kubectl, gives
// kubectl a cache for this cluster alone, and names the kubeconfig, twice: where the two differ,
// KUBECONFIG is no longer the testbed's (scripts/outside-root.mk). It holds for sh, bash, zsh
// and fish.
func exports(kubeconfig string, path ...string) string {
	for i := range path {
		path[i] = quote(path[i])
	}
	return fmt.Sprintf("export PATH=%s:\"$PATH\"\nexport KUBECONFIG=%s\nexport TESTBED_KUBECONFIG=%[2]s\nexport KUBECACHEDIR=%s\n",
		strings.Join(path, ":"), quote(kubeconfig), quote(home.KubectlCache(kubeconfig)))
}

// quote makes one word of text for a shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
