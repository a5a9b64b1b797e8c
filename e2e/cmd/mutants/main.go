// Command mutants breaks operators with each patch beside their suites and sees the suites catch it: make mutants.
//
// It also runs the tests that must catch the faults on the healthy operators, in the same run: a test that always fails
// catches nothing. While the suites wait, the next mutants are built.
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
	"github.com/example/operator-testbed/e2e/interrupt"
)

func main() {
	supervisor.Main()

	ctx, stop := signal.NotifyContext(context.Background(), interrupt.Signals()...)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	parallel := flag.Int("parallel", atOnce(runtime.NumCPU()), "how many are tried at once; each has a cluster of its own")
	timeout := flag.Duration("timeout", 6*time.Second, "how long an assertion waits at least for what a broken operator never does, unless it is about to fail as the mutant says")
	only := flag.String("only", "", "try only the mutants whose name matches this regular expression")
	rights := flag.Bool("rights", false, "take away each right of the operators', one at a time, instead of trying the patches")
	healthy := flag.Bool("healthy", true, "run the tests that judge the mutants on the healthy operators, too; for who has just done so, false")
	alone := flag.Bool("alone", false, "compile each mutant by itself, try it on a cluster of its own and wait as long for what it must fail with as for anything else: slow, and the verdicts must be the same")
	cached := flag.Bool("cached", true, "do not try again what was killed in a run with the same operator, suite, machinery and patch, in which the healthy operator passed")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutants [flags] OPERATOR=SUITE...\n\nThe folder of an operator, and that of its suite, with the mutants in its folder mutants, such as operator=e2e/memcached.")
		flag.PrintDefaults()
	}
	flag.Parse()
	names, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	if flag.NArg() == 0 {
		return errors.New("there is nothing to break: give OPERATOR=SUITE, such as operator=e2e/memcached")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var targets []*target
	for _, pair := range flag.Args() {
		t, err := newTarget(root, pair, *rights, names)
		if err != nil {
			return err
		}
		targets = append(targets, t)
	}
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	how := &trying{work: work, timeout: *timeout, parallel: *parallel, healthy: *healthy, alone: *alone}
	if *cached && !*alone && !*rights {
		how.kills = openKills()
	}
	return how.try(ctx, targets)
}

// atOnce is more than there are cores, as a mutant waits more than it computes. No more than eight: each has a cluster in memory.
func atOnce(cores int) int { return min(2*cores, 8) }
