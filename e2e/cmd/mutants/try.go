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

// run tries mutants, and holds the results.
type run struct {
	work     string
	timeout  time.Duration
	parallel int
	healthy  bool
	alone    bool
	kills    *cache.Cache // nil remembers nothing
	events   *events

	mu       sync.Mutex // of what follows
	killed   int
	survived []string // by name, those with an error too
	errs     []error
}

// try runs the healthy operators and all mutants, prints a line for each, and fails if one is not killed by the assertion that it names.
func (r *run) try(ctx context.Context, targets []*target) error {
	begin := time.Now()
	crds, err := definitions(targets)
	if err != nil {
		return err
	}
	all := 0
	for _, t := range targets {
		all += len(t.mutants)
		if err := r.recall(t); err != nil {
			return err
		}
	}
	// As many are built ahead as can be tried at once. Clusters start meanwhile.
	jobs := make(chan job, r.parallel)
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(jobs)
		for _, t := range targets {
			if len(t.mutants) == 0 {
				continue
			}
			if err := r.prepare(working, t, jobs); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range min(r.parallel, all-r.killed) {
		group.Go(func() error {
			if !r.alone {
				return work(working, clusterName(i), crds, jobs)
			}
			for do := range jobs {
				do(working) // on a cluster of the suite's own
			}
			return nil
		})
	}
	err = group.Wait()
	r.remember(targets)
	if ctx.Err() != nil {
		return errors.New("stopped: nothing is left running")
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d mutants killed by the assertion they name, in %.0f s\n", r.killed, all, time.Since(begin).Seconds())
	if len(r.errs) == 0 && r.healthy {
		fmt.Println("the healthy operators pass the same tests")
	}
	if r.killed < all {
		r.fail(fmt.Errorf("not killed by the assertion that they name: %s", strings.Join(r.survived, ", ")))
	}
	return errors.Join(r.errs...)
}

// recall removes the mutants that are known to be killed from the target.
func (r *run) recall(t *target) error {
	if r.kills == nil {
		return nil
	}
	var left []mutant.Mutant
	for _, m := range t.mutants {
		key, err := t.key(m)
		if err != nil {
			return err
		}
		if _, _, err := r.kills.GetBytes(key); err != nil {
			left = append(left, m)
			continue
		}
		r.killed++
		r.events.result(t.nameOf(m), "")
		fmt.Printf("killed    %-44s by %s: %q (cached)\n", t.nameOf(m), m.Judges(), m.Assertion)
	}
	t.mutants = left
	return nil
}

// remember stores the kills of those targets whose healthy operator passed, in this run or, with -healthy=false, just before it: the others
// prove nothing. If files have changed meanwhile, it is not certain what was tried.
func (r *run) remember(targets []*target) {
	if r.kills == nil {
		return
	}
	for _, t := range targets {
		if r.healthy && !t.passed || len(t.killed) == 0 {
			continue
		}
		if content, err := contentOf(t.root, t.parts()); err != nil || content != t.content {
			continue
		}
		for _, m := range t.killed {
			if key, err := t.key(m); err == nil {
				_ = r.kills.PutBytes(key, nil) // if that fails, the mutant is tried again
			}
		}
	}
}

// prepare builds the suite and the operators of one target, and sends each job as soon as it can run.
func (r *run) prepare(ctx context.Context, t *target, jobs chan<- job) error {
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
	healthy, trials, err := suite.Prepare(ctx, t.mutants, filepath.Join(r.work, filepath.FromSlash(t.directory)), r.alone)
	if err != nil {
		return err
	}
	if r.healthy {
		send(func(ctx context.Context, env ...string) {
			r.runHealthy(ctx, suite, t, append(env, "OPERATOR="+healthy))
		})
	}
	for trial := range trials {
		if trial.Alone != nil && !r.alone {
			fmt.Printf("compiled separately: %s, because %v\n", t.nameOf(trial.Mutant), trial.Alone)
		}
		send(func(ctx context.Context, env ...string) { r.runTrial(ctx, t, trial, env) })
	}
	return ctx.Err()
}

// runHealthy checks that the tests that must catch the mutants pass on the healthy operator.
func (r *run) runHealthy(ctx context.Context, suite mutant.Suite, t *target, env []string) {
	passed, output, err := suite.Run(ctx, t.judges(), append(env, within(time.Minute))...)
	if err == nil && !passed {
		err = fmt.Errorf("the healthy %s fails the tests that must catch its mutants:\n%s", t.operator, output)
	}
	t.passed = err == nil
	r.fail(err)
}

func (r *run) runTrial(ctx context.Context, t *target, trial *mutant.Trial, env []string) {
	if trial.Err != nil {
		r.report(ctx, t, trial.Mutant, mutant.Result{}, errors.Join(trial.Err, trial.Close()))
		return
	}
	if r.alone { // which has to show that the verdict is the same when no assertion fails early
		env = append(env, within(r.timeout))
	} else { // the others wait as on the healthy operator, which passes them on a machine that is as busy
		env = append(env, within(time.Minute), "TESTBED_EXPECTED="+trial.Mutant.Assertion)
	}
	result, err := trial.Run(ctx, env...)
	r.report(ctx, t, trial.Mutant, result, errors.Join(err, trial.Close()))
}

// within is how long the assertions of a suite wait.
func within(timeout time.Duration) string { return "TESTBED_TIMEOUT=" + timeout.String() }

// report prints the result of a mutant, unless the run was stopped: then it says nothing about the mutant.
func (r *run) report(ctx context.Context, t *target, m mutant.Mutant, result mutant.Result, err error) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := t.nameOf(m)
	switch {
	case err != nil:
		r.survived = append(r.survived, name)
		r.events.result(name, err.Error())
		fmt.Printf("error     %-44s %v\n", name, err)
	case result.Wrong != "":
		r.survived = append(r.survived, name)
		r.events.result(name, result.Wrong+"\n"+result.Output)
		fmt.Printf("survived  %-44s %s\n%s\n", name, result.Wrong, indent(result.Output))
	default:
		r.killed++
		t.killed = append(t.killed, m)
		r.events.result(name, "")
		fmt.Printf("killed    %-44s by %s: %q (%.1f s)\n", name, m.Judges(), m.Assertion, result.Took.Seconds())
	}
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
