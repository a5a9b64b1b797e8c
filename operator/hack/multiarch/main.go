// Command multiarch pushes an image for several platforms under one name. `make docker-buildx` calls it:
//
//	multiarch check IMAGE PLATFORMS
//	multiarch push IMAGE PLATFORMS DIRECTORY
//
// The first command prints the architectures to build for, one per line. It fails if Go does not compile for a platform, or if
// the registry does not accept the image. The second command combines the images in DIRECTORY into an OCI index,
// pushes it, and prints its name with its digest. The images are archives that `docker save` has written, named ARCHITECTURE.tar.
//
// Docker's buildx plug-in does the same. This command needs no plug-in, no emulation and no separate builder, because the image
// is FROM scratch and its only file is compiled beforehand. The index is the same for the same executables, no matter when and
// with what the images were built.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "multiarch:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: multiarch check IMAGE PLATFORMS, or multiarch push IMAGE PLATFORMS DIRECTORY")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 3 {
		return errUsage
	}
	architectures, err := architecturesOf(ctx, args[2])
	if err != nil {
		return err
	}
	target, err := targetOf(args[1])
	if err != nil {
		return err
	}
	switch {
	case args[0] == "check" && len(args) == 3:
		if err := target.check(); err != nil {
			return err
		}
		for _, architecture := range architectures {
			fmt.Fprintln(out, architecture)
		}
		return nil
	case args[0] == "push" && len(args) == 4:
		archives := map[string]string{}
		for _, architecture := range architectures {
			archives[architecture] = filepath.Join(args[3], architecture+".tar")
		}
		index, err := indexOf(archives)
		if err != nil {
			return err
		}
		name, err := target.push(ctx, index)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, name)
		return nil
	}
	return errUsage
}
