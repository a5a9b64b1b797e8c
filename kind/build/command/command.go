// Package command is what the commands that build have in common: they print
// one line, stop in order when they are told to or when nobody waits for them
// any more, and keep what they make in the testbed's cache.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/lifeline"
)

// Exit codes. go run turns each but 0 into 1.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 128 + int(syscall.SIGINT)
)

// Main parses the command line, calls run with the testbed's cache folder,
// prints the line that it returns, and ends the process. A message that it fails
// with begins with the name of the flags. It adds the flag -until-eof to the
// command's own flags.
func Main(flags *flag.FlagSet, run func(ctx context.Context, cache string) (string, error)) {
	untilEOF := flags.Bool("until-eof", false, "stop when standard input ends: for a program that holds it open and may be killed")
	if err := flags.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	} else if err != nil {
		os.Exit(exitUsage)
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: unknown argument %q: this command takes none\n", flags.Name(), flags.Arg(0))
		os.Exit(exitUsage)
	}
	line, err := stoppable(*untilEOF, run)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", flags.Name(), err)
	}
	if _, stopped := errors.AsType[*assets.StoppedError](err); stopped {
		os.Exit(exitStopped)
	}
	if err != nil {
		os.Exit(exitFailed)
	}
	fmt.Println(line)
	os.Exit(0)
}

// stoppable calls run with a context that ends when the command is told to stop.
func stoppable(untilEOF bool, run func(ctx context.Context, cache string) (string, error)) (string, error) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it, and catching it would take that back
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
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

	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return run(ctx, cache)
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
