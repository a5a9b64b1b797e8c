// Command kubernetes makes sure that the programs which this module's go.mod
// names as tools are built and in the user's cache: etcd, the Kubernetes control
// plane, kubectl and kwok. It prints one line, the folder that holds them, which
// serves as KUBEBUILDER_ASSETS:
//
//	go -C kind/kubernetes run .
//
// What it does meanwhile it tells on standard error, and nothing when there is
// nothing to do. The message that it fails with begins with "kubernetes: ". It uses the standard library only, so that running it compiles
// in a moment and adds nothing to the modules that Kubernetes is built from.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/example/operator-testbed/kind/kubernetes/internal/assets"
	"github.com/example/operator-testbed/kind/kubernetes/internal/lifeline"
	"github.com/example/operator-testbed/kind/kubernetes/internal/progress"
)

// Exit codes. go run turns each but 0 into 1.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 128 + int(syscall.SIGINT)
)

func main() {
	flags := flag.NewFlagSet("kubernetes", flag.ContinueOnError)
	untilEOF := flags.Bool("until-eof", false, "stop when standard input ends: for a program that holds it open and may be killed")
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(exitUsage)
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "kubernetes: unknown argument %q: this command takes none\n", flags.Arg(0))
		os.Exit(exitUsage)
	}
	os.Exit(run(*untilEOF))
}

func run(untilEOF bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Once is enough to stop in order; a second signal ends the process.
	context.AfterFunc(ctx, stop)
	// Without this a write to a closed pipe kills us before the build is stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lifeline.WatchParent(ctx, cancel)
	if untilEOF {
		lifeline.WatchInput(os.Stdin, cancel)
	}

	dir, err := ensure(ctx)
	var stopped *assets.StoppedError
	switch {
	case errors.As(err, &stopped):
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		return exitStopped
	case err != nil:
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		return exitFailed
	}
	fmt.Println(dir)
	return 0
}

func ensure(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	module, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return assets.Ensure(ctx, assets.Options{
		Module:   module,
		Cache:    cache,
		Progress: os.Stderr,
		Columns:  progress.Terminal(os.Stderr),
	})
}

// cacheDir is the testbed's cache folder.
func cacheDir() (string, error) {
	if dir := os.Getenv("TESTBED_CACHE"); filepath.IsAbs(dir) {
		return dir, nil
	} else if dir != "" {
		// go -C has changed the folder that it would be relative to.
		return "", fmt.Errorf("TESTBED_CACHE is %s: it must be an absolute path", dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no user cache folder (%w): set TESTBED_CACHE to a folder of your own", err)
	}
	return filepath.Join(dir, "operator-testbed"), nil
}
