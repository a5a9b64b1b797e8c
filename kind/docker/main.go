// Command docker starts a container engine on a machine that has none, and removes
// it again:
//
//	go run ./kind/docker up
//	go run ./kind/docker down
//
// It is for Debian and Ubuntu, as root: a build machine or a virtual machine. It says
// what it is about to do and asks, unless YES=1 or CI=true is set. If an engine
// answers already, it changes nothing. All files of the engine are in the testbed's
// state directory.
//
// Under the name runc-bounded it is the runtime of that engine, on machines whose
// capabilities are bounded: see capabilities.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/example/operator-testbed/e2e/host/home"
)

func main() {
	if filepath.Base(os.Args[0]) == wrapperName {
		fmt.Fprintln(os.Stderr, wrapRuntime(os.Args[1:]))
		os.Exit(1)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	state, err := home.State()
	if err != nil {
		return err
	}
	e := engine{dir: filepath.Join(state, "docker")}
	switch strings.Join(args, " ") {
	case "up":
		return up(ctx, e)
	case "down":
		return down(ctx, e)
	}
	return errors.New("usage: docker up|down")
}

func up(ctx context.Context, e engine) error {
	m := look(ctx, e)
	todo, err := decide(m)
	if err != nil {
		return err
	}
	if todo.nothing != "" {
		say("%s", todo.nothing)
		return nil
	}
	say("%s", todo.describe(e.dir))
	if err := consent(); err != nil {
		return err
	}
	if len(todo.install) > 0 {
		if err := install(ctx, todo.install); err != nil {
			return err
		}
		// With systemd, the package starts Docker and keeps it running.
		if version, err := answers(ctx); err == nil {
			say("Docker %s, the package's own service, answers", version)
			return nil
		}
	}
	version, err := e.start(ctx, todo.missing)
	if err != nil {
		return err
	}
	say("Docker %s answers; make docker-down stops it", version)
	return nil
}

func down(ctx context.Context, e engine) error {
	record, err := e.record()
	if err != nil {
		return err
	}
	if record == nil {
		say("make docker-up has not started a Docker here (its record would be in %s): nothing to do", e.dir)
		return nil
	}
	if err := e.stop(ctx, record); err != nil {
		return err
	}
	say("Docker is down, and its containers, images and networks are gone; the packages stay: apt-get purge %s removes them", strings.Join(packages, " "))
	return nil
}

// consent asks at the terminal whether to go on.
func consent() error {
	if os.Getenv("YES") == "1" || os.Getenv("CI") == "true" {
		return nil
	}
	fmt.Fprint(os.Stderr, "Go on? [y/N] ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(os.Stderr)
		return errors.New("there was no answer, so nothing was changed: add YES=1 to make's command line to agree")
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
