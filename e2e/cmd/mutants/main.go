// Command mutants breaks the operator with each patch beside a suite and sees the suite catch it: make mutants.
//
// It also runs the tests that must catch the faults on the healthy operator, in the same run: a test that always fails
// catches nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/operator-testbed/e2e/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	folder := flag.String("suite", "e2e/memcached", "the suite's folder; its mutants are in its folder mutants")
	operator := flag.String("operator", "operator", "the folder of the operator that is broken")
	parallel := flag.Int("parallel", atOnce(runtime.NumCPU()), "how many are tried at once; each has a cluster of its own")
	timeout := flag.Duration("timeout", 10*time.Second, "how long an assertion waits for what a broken operator never does")
	only := flag.String("only", "", "try only the mutants whose name matches this regular expression")
	rights := flag.Bool("rights", false, "take away each right of the operator's, one at a time, instead of trying the patches")
	flag.Parse()

	root, err := os.Getwd()
	if err != nil {
		return err
	}
	mutants, err := read(root, *folder, *rights)
	if err != nil {
		return err
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("reading -only: %w", err)
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant.Mutant) bool { return !names.MatchString(m.Name) })
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	suite := mutant.Suite{
		Root: root, Folder: filepath.Join(root, *folder), Binary: filepath.Join(work, "suite.test"),
		Config: path.Join(filepath.ToSlash(*operator), "config"),
		Env:    []string{"CLUSTER=embedded", "TESTBED_TIMEOUT=" + timeout.String()},
	}
	if _, err := os.Stat(filepath.Join(*operator, "cmd")); err == nil {
		suite.Package = "./" + path.Join(filepath.ToSlash(*operator), "cmd")
	}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", suite.Binary, "./"+filepath.ToSlash(*folder))
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("building the suite: %w\n%s", err, out)
	}
	return try(ctx, suite, mutants, *parallel)
}

// atOnce is how many clusters a machine can carry whose tests have time limits: a mutant waits more than it computes, but what
// judges it must not wait for a core.
func atOnce(cores int) int { return max(2, min(3, cores-1)) }

func read(root, folder string, rights bool) ([]mutant.Mutant, error) {
	if rights {
		return withoutEachRight(root, folder)
	}
	return mutant.Read(filepath.Join(folder, "mutants"))
}

// try runs the healthy operator and all mutants, prints a line for each, and fails when any is not killed as it should be.
func try(ctx context.Context, suite mutant.Suite, mutants []mutant.Mutant, parallel int) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	begin := time.Now()
	healthy := make(chan error, 1)
	group.Go(func() error {
		passed, output, err := suite.Run(ctx, pattern(mutants), "TESTBED_TIMEOUT=60s")
		if err == nil && !passed && os.Getenv("CI") == "true" {
			// As scripts/go-test does there: a shared machine must not decide.
			fmt.Printf("the healthy operator failed, and is tried once more:\n%s\n", indent(output))
			passed, output, err = suite.Run(ctx, pattern(mutants), "TESTBED_TIMEOUT=60s")
		}
		if err == nil && !passed {
			err = fmt.Errorf("the healthy operator fails the tests that judge the mutants:\n%s", output)
		}
		healthy <- err
		return nil
	})
	results := make([]mutant.Result, len(mutants))
	errs := make([]error, len(mutants))
	for i, m := range mutants {
		group.Go(func() error {
			results[i], errs[i] = suite.Try(ctx, m)
			if errs[i] == nil && results[i].Wrong != "" && ctx.Err() == nil && os.Getenv("CI") == "true" {
				fmt.Printf("once more %-28s %s\n", m.Name, results[i].Wrong)
				results[i], errs[i] = suite.Try(ctx, m)
			}
			if ctx.Err() == nil { // else it says nothing about the mutant
				tell(m, results[i], errs[i])
			}
			return nil
		})
	}
	_ = group.Wait() // what went wrong is in healthy, results and errs
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: nothing is left running")
	}
	killed := 0
	for i := range mutants {
		if errs[i] == nil && results[i].Wrong == "" {
			killed++
		}
	}
	fmt.Printf("%d of %d mutants killed by the assertion they name, in %.0f s\n", killed, len(mutants), time.Since(begin).Seconds())
	if err := <-healthy; err != nil {
		return err
	}
	fmt.Println("the healthy operator passes the same tests")
	if killed < len(mutants) {
		return fmt.Errorf("%d mutants were not killed as they should be", len(mutants)-killed)
	}
	return nil
}

// tell prints what came of a mutant.
func tell(m mutant.Mutant, result mutant.Result, err error) {
	switch {
	case err != nil:
		fmt.Printf("error     %-28s %v\n", m.Name, err)
	case result.Wrong != "":
		fmt.Printf("survived  %-28s %s\n%s\n", m.Name, result.Wrong, indent(result.Output))
	default:
		fmt.Printf("killed    %-28s by %s: %q (%.1f s)\n", m.Name, m.Judges(), m.Assertion, result.Took.Seconds())
	}
}

// pattern matches all tests that judge a mutant.
func pattern(mutants []mutant.Mutant) string {
	var names []string
	for _, m := range mutants {
		if m.Test != "" {
			names = append(names, m.Test)
		}
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
