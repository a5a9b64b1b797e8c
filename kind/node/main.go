// Command node makes sure that Docker has an image of a kind node which is made
// from Go modules and Debian packages, and prints its name:
//
//	go -C kind/node run .
//
// With -image=memcached it is the image of memcached, from Debian's package. With
// -image=ansible, which needs no Docker, it is the tar file of the root file system below
// operators that are Ansible roles.
//
// It reports its progress on standard error, and prints nothing there when there is
// nothing to do. DEBIAN_MIRROR names a Debian mirror.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/node/internal/ansible"
	"github.com/example/operator-testbed/kind/node/internal/nodeimage"
	"github.com/example/operator-testbed/kind/node/internal/operand"
)

func main() {
	flags := flag.NewFlagSet("node-image", flag.ExitOnError)
	image := flags.String("image", "node", "the `image` to make: node, memcached or ansible")
	command.Main(flags, func(ctx context.Context, cache string) (string, error) {
		mirror := os.Getenv("DEBIAN_MIRROR")
		switch *image {
		case "node":
		case "memcached":
			return operand.Ensure(ctx, operand.Options{Cache: cache, Mirror: mirror, Progress: os.Stderr})
		case "ansible":
			return ansible.Ensure(ctx, ansible.Options{Cache: cache, Mirror: mirror, Progress: os.Stderr})
		default:
			return "", fmt.Errorf("invalid -image=%s: want node, memcached or ansible", *image)
		}
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return nodeimage.Ensure(ctx, nodeimage.Options{
			Kind:     filepath.Dir(module),
			Cache:    cache,
			Mirror:   mirror,
			Progress: os.Stderr,
		})
	})
}
