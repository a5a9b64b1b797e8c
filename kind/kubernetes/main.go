// Command kubernetes makes sure that programs which this module's go.mod names
// as tools are built and in the user's cache: etcd, the Kubernetes control
// plane, kubectl and kwok. It prints one line, the directory that holds them, which
// serves as KUBEBUILDER_ASSETS:
//
//	go -C kind/kubernetes run .
//
// With -platform=darwin/arm64 they are for such a machine, to be carried there.
//
// It reports its progress on standard error, and prints nothing there when there is
// nothing to do. The message that it fails with starts with "kubernetes: ".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/build/progress"
)

// programs are those of the embedded cluster. The other tools are a node's, which
// kind/node builds: nobody else should wait for a kubelet.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}

func main() {
	flags := flag.NewFlagSet("kubernetes", flag.ExitOnError)
	platform := flags.String("platform", "", "`OS/ARCH` to build for; empty means this machine")
	command.Main(flags, func(ctx context.Context, cache string) (string, error) {
		system, arch, ok := strings.Cut(*platform, "/")
		if *platform != "" && (!ok || system == "" || arch == "") {
			return "", fmt.Errorf("there is no -platform=%s: name one as in -platform=darwin/arm64", *platform)
		}
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return assets.Ensure(ctx, assets.Options{
			Module:   module,
			Programs: programs,
			OS:       system,
			Arch:     arch,
			Command:  usage(*platform),
			Cache:    cache,
			Progress: os.Stderr,
			Columns:  progress.Terminal(os.Stderr),
		})
	})
}

// usage is how the programs are built from the root of the repository.
func usage(platform string) string {
	command := "go -C kind/kubernetes run ."
	if platform != "" {
		command += " -platform=" + platform
	}
	return command
}
