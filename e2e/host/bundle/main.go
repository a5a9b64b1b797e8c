// Command bundle carries what this repository needs from the network to a
// machine that has none:
//
//	go run ./e2e/host/bundle pack [-platforms "OS/ARCH ..."] [-images "NAME ..."] FILE
//	go run ./e2e/host/bundle unpack FILE|https://ADDRESS
//	go run ./e2e/host/bundle platforms "OS/ARCH ..."
//
// The last one prints the platforms one per line, for a script that compiles for them first.
//
// A bundle is a gzipped tar file: the modules that the operator, the suites, the
// chapters and their tools are compiled from, the programs of the embedded
// cluster for each platform, the site of the tutorial, and container images if some
// are named. Unpack puts what fits this machine where Go and the testbed look for it,
// and replaces no file that is there. This program imports nothing but the standard library and the packages
// beside it, because it must compile before there is anything else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/host/home"
)

func main() {
	err := gocommand.Setup()
	if err == nil {
		err = run(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	flags := flag.NewFlagSet("bundle", flag.ContinueOnError)
	images := flags.String("images", "", "`names` of images to pack from Docker, with blanks between them")
	platforms := flags.String("platforms", "", "`platforms` to pack the cluster's programs for, with blanks between them; empty means this machine's")
	usage := errors.New(`usage: bundle pack [-platforms "OS/ARCH ..."] [-images "NAME ..."] FILE, bundle unpack FILE|ADDRESS, or bundle platforms "OS/ARCH ..."`)
	if len(args) == 0 || flags.Parse(args[1:]) != nil || flags.NArg() != 1 {
		return usage
	}
	file := flags.Arg(0)
	var err error
	switch args[0] {
	case "pack":
		err = pack(ctx, file, *platforms, strings.Fields(*images))
	case "unpack":
		err = unbundle(ctx, file)
	case "platforms":
		named, err := platformsIn(file)
		if err == nil {
			say("%s", strings.Join(named, "\n"))
		}
		return err
	default:
		return usage
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: no file is left incomplete; run the same command again to go on")
	}
	return err
}

// unbundle unpacks a bundle that is on this machine or at an address. One on this machine is compared with the checksum beside
// it, if there is one.
func unbundle(ctx context.Context, bundle string) error {
	if !isAddress(bundle) {
		if text, err := os.ReadFile(bundle + ".sha256"); err == nil {
			if err := verify(bundle, sumIn(text)); err != nil {
				return fmt.Errorf("%s does not match %s.sha256: %w: copy it again", bundle, bundle, err)
			}
		}
		return unpack(ctx, bundle)
	}
	cache, err := home.Cache()
	if err != nil {
		return err
	}
	path, err := fetch{newClient(), bundle, filepath.Join(cache, "downloads"), report}.get(ctx)
	if err != nil {
		return err
	}
	if err := unpack(ctx, path); err != nil {
		return err
	}
	return os.Remove(path)
}

// report shows progress: scripts/run progress shows the last of these lines until the next one.
func report(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
