package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/sync/errgroup"

	"github.com/example/operator-testbed/e2e/mutant"
)

// trying is how mutants are tried, and what came of it.
type trying struct {
	work     string
	timeout  time.Duration
	parallel int
	healthy  bool
	alone    bool
	kills    *cache.Cache // nil remembers nothing

	told     sync.Mutex
	killed   int
	survived []string // by name, where something went wrong too
	errs     []error
}

// try runs the healthy operators and all mutants, prints a line for each, and fails when any is not killed as it should be.
func (how *trying) try(ctx context.Context, targets []*target) error {
	begin := time.Now()
	crds, err := definitions(targets)
	if err != nil {
		return err
	}
	all := 0
	for _, t := range targets {
		all += len(t.mutants)
		if err := how.recall(t); err != nil {
			return err
		}
	}
	// What is built ahead is enough for all who come for more at once. Clusters start meanwhile.
	jobs := make(chan job, how.parallel)
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(jobs)
		for _, t := range targets {
			if len(t.mutants) == 0 {
				continue
			}
			if err := how.prepare(working, t, jobs); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range min(how.parallel, all-how.killed) {
		group.Go(func() error {
			if !how.alone {
				return work(working, clusterName(i), crds, jobs)
			}
			for do := range jobs {
				do(working) // on a cluster of the suite's own
			}
			return nil
		})
	}
	err = group.Wait()
	how.remember(targets)
	if ctx.Err() != nil {
		return errors.New("stopped: nothing is left running")
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d mutants killed by the assertion they name, in %.0f s\n", how.killed, all, time.Since(begin).Seconds())
	if len(how.errs) == 0 && how.healthy {
		fmt.Println("the healthy operators pass the same tests")
	}
	if how.killed < all {
		how.fail(fmt.Errorf("not killed as they should be: %s", strings.Join(how.survived, ", ")))
	}
	return errors.Join(how.errs...)
}

// recall leaves of the target's mutants those that are not known to be killed.
func (how *trying) recall(t *target) error {
	if how.kills == nil {
		return nil
	}
	var left []mutant.Mutant
	for _, m := range t.mutants {
		key, err := t.key(m)
		if err != nil {
			return err
		}
		if _, _, err := how.kills.GetBytes(key); err != nil {
			left = append(left, m)
			continue
		}
		how.killed++
		fmt.Printf("killed    %-44s by %s: %q (cached)\n", t.nameOf(m), m.Judges(), m.Assertion)
	}
	t.mutants = left
	return nil
}

// remember keeps the kills of those targets whose healthy operator passed: a kill is worth nothing without. What was changed
// meanwhile may not be what was tried.
func (how *trying) remember(targets []*target) {
	if how.kills == nil {
		return
	}
	for _, t := range targets {
		if !t.passed || len(t.killed) == 0 {
			continue
		}
		if content, err := contentOf(t.root, t.parts()); err != nil || content != t.content {
			continue
		}
		for _, m := range t.killed {
			if key, err := t.key(m); err == nil {
				_ = how.kills.PutBytes(key, nil) // or the mutant is tried again
			}
		}
	}
}

// prepare builds the suite and the operators of one target, and sends what is ready to be run.
func (how *trying) prepare(ctx context.Context, t *target, jobs chan<- job) error {
	send := func(do job) {
		select {
		case jobs <- do:
		case <-ctx.Done():
		}
	}
	suite, err := t.build(ctx)
	if err != nil {
		return err
	}
	healthy, trials, err := suite.Prepare(ctx, t.mutants, filepath.Join(how.work, filepath.FromSlash(t.folder)), how.alone)
	if err != nil {
		return err
	}
	if how.healthy {
		send(func(ctx context.Context, env ...string) {
			how.runHealthy(ctx, suite, t, append(env, "OPERATOR="+healthy))
		})
	}
	for trial := range trials {
		if trial.Alone != nil && !how.alone {
			fmt.Printf("compiled alone: %s, because %v\n", t.nameOf(trial.Mutant), trial.Alone)
		}
		send(func(ctx context.Context, env ...string) { how.runTrial(ctx, t, trial, env) })
	}
	return ctx.Err()
}

// runHealthy sees that the tests that judge the mutants pass on the operator as it is.
func (how *trying) runHealthy(ctx context.Context, suite mutant.Suite, t *target, env []string) {
	passed, output, err := suite.Run(ctx, t.judges(), append(env, within(time.Minute))...)
	if err == nil && !passed {
		err = fmt.Errorf("the healthy %s fails the tests that judge its mutants:\n%s", t.operator, output)
	}
	t.passed = err == nil
	how.fail(err)
}

func (how *trying) runTrial(ctx context.Context, t *target, trial *mutant.Trial, env []string) {
	if trial.Err != nil {
		how.tell(ctx, t, trial.Mutant, mutant.Result{}, errors.Join(trial.Err, trial.Close()))
		return
	}
	env = append(env, within(how.timeout))
	if !how.alone { // or nothing would show that the verdict is the same with more patience
		env = append(env, "TESTBED_EXPECTED="+trial.Mutant.Assertion)
	}
	result, err := trial.Run(ctx, env...)
	how.tell(ctx, t, trial.Mutant, result, errors.Join(err, trial.Close()))
}

// within is how long the assertions of a suite wait.
func within(timeout time.Duration) string { return "TESTBED_TIMEOUT=" + timeout.String() }

// tell prints what came of a mutant, unless it was stopped: then that says nothing about it.
func (how *trying) tell(ctx context.Context, t *target, m mutant.Mutant, result mutant.Result, err error) {
	if ctx.Err() != nil {
		return
	}
	how.told.Lock()
	defer how.told.Unlock()
	name := t.nameOf(m)
	switch {
	case err != nil:
		how.survived = append(how.survived, name)
		fmt.Printf("error     %-44s %v\n", name, err)
	case result.Wrong != "":
		how.survived = append(how.survived, name)
		fmt.Printf("survived  %-44s %s\n%s\n", name, result.Wrong, indent(result.Output))
	default:
		how.killed++
		t.killed = append(t.killed, m)
		fmt.Printf("killed    %-44s by %s: %q (%.1f s)\n", name, m.Judges(), m.Assertion, result.Took.Seconds())
	}
}

func (how *trying) fail(err error) {
	how.told.Lock()
	defer how.told.Unlock()
	if err != nil {
		how.errs = append(how.errs, err)
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
