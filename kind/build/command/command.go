// Package command is what the commands that build have in common: they print
// one line, stop in order on a signal or when nobody waits for them any more, and
// keep what they make in the testbed's cache.
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
)

// Exit codes. go run turns each but 0 into 1.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 128 + int(syscall.SIGINT)
)

// Main parses the command line, calls run with the testbed's cache directory,
// prints the line that it returns, and exits. A message that it fails with starts
// with the name of the flags. It adds the flag -until-eof to the
// command's own flags, which exit on an error (flag.ExitOnError).
func Main(flags *flag.FlagSet, run func(ctx context.Context, cache string) (string, error)) {
	untilEOF := flags.Bool("until-eof", false, "stop when standard input is closed, for programs that may be killed")
	_ = flags.Parse(os.Args[1:])
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

// stoppable calls run with a context that is done when the command has to stop.
func stoppable(untilEOF bool, run func(ctx context.Context, cache string) (string, error)) (string, error) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it, and catching it would take that back
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	// Once is enough to stop in order; a second signal kills the process.
	context.AfterFunc(ctx, stop)
	// Without this a write to a closed pipe kills us before the build is stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchParent(os.Getppid(), cancel)
	if untilEOF {
		go watchInput(os.Stdin, cancel)
	}

	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	line, err := run(ctx, cache)
	if _, explained := errors.AsType[*assets.StoppedError](err); err != nil && ctx.Err() != nil && !explained {
		err = &assets.StoppedError{Cause: context.Cause(ctx)}
	}
	return line, err
}

// cacheDir is the testbed's cache directory.
func cacheDir() (string, error) {
	if dir := os.Getenv("TESTBED_CACHE"); filepath.IsAbs(dir) {
		return dir, nil
	} else if dir != "" {
		// go -C has changed the directory that it would be relative to.
		return "", fmt.Errorf("TESTBED_CACHE is %s: it must be an absolute path", dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no user cache directory (%w): set TESTBED_CACHE to a directory of your own", err)
	}
	return filepath.Join(dir, "operator-testbed"), nil
}
