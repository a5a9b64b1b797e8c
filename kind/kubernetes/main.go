// Command kubernetes makes sure that programs which this module's go.mod names
// as tools are built and in the user's cache: etcd, the Kubernetes control
// plane, kubectl and kwok. It prints one line, the directory that holds them, which
// serves as KUBEBUILDER_ASSETS:
//
//	go -C kind/kubernetes run .
//
// With -platform=darwin/arm64 they are for such a machine, to be carried there. With
// -cluster kubectl may be missing: it is not compiled, because no component of a cluster
// needs it. With -previous the control plane is that of the version before, which the go.mod
// in the directory previous names.
//
// On Linux, the programs that their projects release are downloaded where the projects'
// sites answer, and all others are compiled. With TESTBED_DOWNLOAD=no everything is
// compiled. TESTBED_MIRROR is the base address of a mirror of these sites.
//
// It reports its progress on standard error, and prints nothing there when there is
// nothing to do. The message that it fails with starts with "kubernetes: ".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/build/progress"
)

// programs are those of the embedded cluster. The other tools are a node's, which
// kind/node builds: nobody else should wait for a kubelet.
var (
	programs = append(slices.Clone(components), clients...)
	// components are what a cluster runs, and clients what its users run.
	components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
	clients    = []string{"kubectl"}
	// controlPlane are those of them that the module in the directory previous has, too.
	controlPlane = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
)

func main() {
	flags := flag.NewFlagSet("kubernetes", flag.ExitOnError)
	platform := flags.String("platform", "", "`OS/ARCH` to build for; empty means this machine")
	cluster := flags.Bool("cluster", false, "compile only what a cluster runs, without kubectl")
	previous := flags.Bool("previous", false, "take the control plane of the version before")
	command.Main(flags, func(ctx context.Context, cache string) (string, error) {
		system, arch, ok := strings.Cut(*platform, "/")
		if *platform != "" && (!ok || system == "" || arch == "") {
			return "", fmt.Errorf("there is no -platform=%s: name one as in -platform=darwin/arm64", *platform)
		}
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		options := assets.Options{
			Module:   module,
			Programs: programs,
			OS:       system,
			Arch:     arch,
			Command:  usage(*platform, *previous),
			Cache:    cache,
			Progress: os.Stderr,
			Columns:  progress.Terminal(os.Stderr),
		}
		if *cluster {
			options.Programs, options.Along = components, clients
		}
		// What is carried to another machine is built from what is committed.
		if *platform == "" {
			if options.Download, options.Mirror, err = downloads(os.Getenv); err != nil {
				return "", err
			}
		}
		if !*previous {
			return assets.Ensure(ctx, options)
		}
		options.Programs = slices.DeleteFunc(slices.Clone(options.Programs), func(name string) bool { return slices.Contains(controlPlane, name) })
		others, err := assets.Ensure(ctx, options)
		if err != nil {
			return "", err
		}
		options.Module, options.From, options.Taken = filepath.Join(module, "previous"), others, options.Programs
		options.Programs, options.Along = controlPlane, nil
		return assets.Ensure(ctx, options)
	})
}

// downloads reads whether programs may be downloaded, and from which mirror.
func downloads(getenv func(string) string) (allowed bool, mirror string, err error) {
	switch value := getenv("TESTBED_DOWNLOAD"); value {
	case "", "yes":
	case "no":
		return false, "", nil
	default:
		return false, "", fmt.Errorf("invalid TESTBED_DOWNLOAD %q: use no to compile everything, or leave it unset", value)
	}
	if mirror = getenv("TESTBED_MIRROR"); mirror != "" {
		if err := assets.CheckMirror(mirror); err != nil {
			return false, "", fmt.Errorf("invalid TESTBED_MIRROR: %w", err)
		}
	}
	return true, mirror, nil
}

// usage is how the programs are built from the root of the repository.
func usage(platform string, previous bool) string {
	command := "go -C kind/kubernetes run ."
	if platform != "" {
		command += " -platform=" + platform
	}
	if previous {
		command += " -previous"
	}
	return command
}
