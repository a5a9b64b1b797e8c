// Command sdk makes sure that the programs which this module's go.mod names as tools
// are built and in the user's cache: operator-sdk, with what it needs. It prints one
// line, the directory that holds them:
//
//	go -C scripts/sdk run .
//
// Beside them is event-plugin, a Python package that ansible-operator needs: see plugin.go.
//
// `make sdk` calls it, and nothing else does. It reports its progress on standard error,
// and prints nothing there when there is nothing to do. The message that it fails with
// starts with "sdk: ".
package main

import (
	"context"
	"flag"
	"os"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/build/progress"
)

// tags replaces GPGME, which needs a C compiler, by Go code, as the projects' own releases do.
var tags = []string{"containers_image_openpgp"}

// The modules whose programs get stamps.
const (
	sdk      = "github.com/operator-framework/operator-sdk"
	ansible  = "github.com/operator-framework/ansible-operator-plugins"
	registry = "github.com/operator-framework/operator-registry"
	helm     = "helm.sh/helm/v3"
)

// stamps are what the projects' Makefiles set. Without them, what operator-sdk scaffolds
// names images with the tag "unknown".
var stamps = []assets.Stamp{
	{Module: sdk, Variable: sdk + "/internal/version.Version", Value: "{version}"},
	{Module: sdk, Variable: sdk + "/internal/version.GitVersion", Value: "{version}"},
	{Module: sdk, Variable: sdk + "/internal/version.ImageVersion", Value: "{version}"},
	{Module: ansible, Variable: ansible + "/internal/version.Version", Value: "{version}"},
	{Module: ansible, Variable: ansible + "/internal/version.GitVersion", Value: "{version}"},
	{Module: ansible, Variable: ansible + "/internal/version.ImageVersion", Value: "{version}"},
	{Module: registry, Variable: registry + "/cmd/opm/version.opmVersion", Value: "{version}"},
	{Module: helm, Variable: helm + "/internal/version.version", Value: "{version}"},
}

func main() {
	command.Main(flag.NewFlagSet("sdk", flag.ExitOnError), func(ctx context.Context, cache string) (string, error) {
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		directory, err := assets.Ensure(ctx, assets.Options{
			Module:   module,
			Tags:     tags,
			Stamps:   stamps,
			Command:  "make sdk",
			Cache:    cache,
			Progress: os.Stderr,
			Columns:  progress.Terminal(os.Stderr),
		})
		if err != nil {
			return "", err
		}
		return directory, addEventPlugin(ctx, module, directory)
	})
}
