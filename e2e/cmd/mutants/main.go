// Command mutants breaks operators with each patch beside their suites, and checks that the suites catch it: make mutants.
//
// In the same run, it runs the tests that must catch the faults on the healthy operators: a test that always fails catches
// nothing. While the suites wait, the next mutants are built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/e2e/reaper"
)

func main() {
	supervisor.Main()
	reaper.Main()

	ctx, stop := signal.NotifyContext(context.Background(), interrupt.Signals()...)
	err := gocommand.Setup()
	if err == nil {
		err = execute(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

func execute(ctx context.Context) error {
	parallel := flag.Int("parallel", atOnce(runtime.NumCPU()), "how many mutants are tried at once, each on a cluster of its own")
	timeout := flag.Duration("timeout", 6*time.Second, "with -alone, the minimum time for which an assertion waits")
	only := flag.String("only", "", "try only the mutants whose name matches this regular expression")
	permissions := flag.Bool("permissions", false, "instead of applying the patches, take away each permission of the operators, one at a time")
	healthy := flag.Bool("healthy", true, "also run the tests that must catch the mutants on the healthy operators; false if they have just passed")
	alone := flag.Bool("alone", false, "compile each mutant separately, create a cluster for it, and let no assertion fail early: slow, and the verdicts must be the same")
	cached := flag.Bool("cached", true, "don't try a mutant again that was killed with the same operator, suite, testbed and patch, if the healthy operator passed in that run")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutants [flags] OPERATOR=SUITE...\n\nEach argument names the directory of an operator and that of its suite, such as operator=e2e/memcached. The mutants are\nthe patches in the suite's directory mutants.")
		flag.PrintDefaults()
	}
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	if flag.NArg() == 0 {
		return errors.New("there is nothing to break: name OPERATOR=SUITE, such as operator=e2e/memcached")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var targets []*target
	for _, pair := range flag.Args() {
		t, err := newTarget(root, pair, *permissions, names)
		if err != nil {
			return err
		}
		targets = append(targets, t)
	}
	defer reaper.Begin().End()
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &run{work: work, timeout: *timeout, parallel: *parallel, healthy: *healthy, alone: *alone}
	if *cached && !*alone && !*permissions {
		r.kills = openKills()
	}
	if r.events, err = openEvents(); err != nil {
		return err
	}
	err = r.try(ctx, targets)
	return errors.Join(err, r.events.close(err != nil))
}

// atOnce is more than the number of cores, because a mutant waits more than it computes. It is at most eight, because each has a cluster
// in memory.
func atOnce(cores int) int { return min(2*cores, 8) }
