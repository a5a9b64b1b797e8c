// Command node makes sure that there is an image of a kind node in Docker that is
// made from Go modules and Debian packages, and prints its name:
//
//	go -C kind/node run .
//
// What it does meanwhile it tells on standard error, and nothing when there is
// nothing to do. DEBIAN_MIRROR names a Debian mirror.
package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/node/internal/nodeimage"
)

func main() {
	flags := flag.NewFlagSet("node-image", flag.ContinueOnError)
	command.Main(flags, func(ctx context.Context, cache string) (string, error) {
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return nodeimage.Ensure(ctx, nodeimage.Options{
			Kind:     filepath.Dir(module),
			Cache:    cache,
			Mirror:   os.Getenv("DEBIAN_MIRROR"),
			Progress: os.Stderr,
		})
	})
}
