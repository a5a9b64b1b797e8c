// Command kubernetes makes sure that programs which this module's go.mod names
// as tools are built and in the user's cache: etcd, the Kubernetes control
// plane, kubectl and kwok. It prints one line, the folder that holds them, which
// serves as KUBEBUILDER_ASSETS:
//
//	go -C kind/kubernetes run .
//
// With -programs=node they are those of a kind node instead; with
// -platform=darwin/arm64 they are for such a machine, to be carried there.
//
// What it does meanwhile it tells on standard error, and nothing when there is
// nothing to do. The message that it fails with begins with "kubernetes: ".
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/build/progress"
)

// sets are the programs that are wanted together. Nobody who only wants the
// embedded cluster should wait for a kubelet.
var sets = map[string][]string{
	"cluster": {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"},
	"node":    {"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubeadm", "kubectl", "kubelet"},
}

func main() {
	flags := flag.NewFlagSet("kubernetes", flag.ContinueOnError)
	set := flags.String("programs", "cluster", "`set` of programs: "+known())
	platform := flags.String("platform", "", "`OS/ARCH` to build for; empty means this machine")
	command.Main(flags, func(ctx context.Context, cache string) (string, error) {
		programs, ok := sets[*set]
		if !ok {
			return "", fmt.Errorf("there is no -programs=%s: use one of %s", *set, known())
		}
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
			Command:  usage(*set, *platform),
			Cache:    cache,
			Progress: os.Stderr,
			Columns:  progress.Terminal(os.Stderr),
		})
	})
}

// usage is how a set is built from the root of the repository.
func usage(set, platform string) string {
	command := "go -C kind/kubernetes run ."
	if set != "cluster" {
		command += " -programs=" + set
	}
	if platform != "" {
		command += " -platform=" + platform
	}
	return command
}

func known() string { return strings.Join(slices.Sorted(maps.Keys(sets)), ", ") }
