// Package recheck checks a learner's copy again whenever a file of it changes.
package recheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// Keys are the keys that a learner can press, with what they do.
const Keys = "n: next chapter   h: hint   l: list of features   q: quit"

// Options say what to watch.
type Options struct {
	// Root is the repository, and Dir the copy.
	Root, Dir string
	// Keys are the keys that are pressed: those of [Keys]. If it is closed, no more are pressed.
	Keys <-chan rune
	// Out gets everything that is printed. It is written to by several goroutines at once.
	Out io.Writer
	// Check checks the copy in a directory, prints what comes of it, and calls step with what it does next. Checks follow each other, and
	// are canceled if a file changes.
	Check func(ctx context.Context, dir string, step func(what string)) error
	// Hint prints a hint about the copy in a directory.
	Hint func(dir string) error
}

// errChanged and errLeft are why a check is canceled.
var (
	errChanged = errors.New("a file has changed")
	errLeft    = errors.New("the learner has left")
)

// Watch checks the copy, and again after each change, until somebody presses q or ctx ends.
func Watch(ctx context.Context, o Options) error {
	for dir := o.Dir; dir != ""; {
		next, err := o.watch(ctx, dir)
		if err != nil {
			return err
		}
		dir = next
	}
	return nil
}

// check is a check that was started.
type check struct {
	cancel context.CancelCauseFunc
	done   chan error // gets its error
}

// stop cancels the check, and returns when it is over.
func (c *check) stop(why error) {
	if c != nil {
		c.cancel(why)
		<-c.done //nolint:errcheck // it was asked to stop
	}
}

// watch watches the copy in dir, and returns the directory of the copy to go on with; empty if the learner quits.
func (o Options) watch(ctx context.Context, dir string) (next string, err error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := Files(watching, dir)
	if err != nil {
		return "", err
	}
	start := func() *check {
		ctx, cancel := context.WithCancelCause(ctx)
		c := &check{cancel: cancel, done: make(chan error, 1)}
		go func() {
			steps := startSteps(o.Out)
			err := o.Check(ctx, dir, steps.next)
			steps.stop()
			c.done <- err
		}()
		return c
	}
	fmt.Fprintf(o.Out, "checking %s\n", dir)
	running := start()
	defer func() { running.stop(errLeft) }()
	var done chan error
	last := errNotChecked
	for {
		if done = nil; running != nil {
			done = running.done
		}
		select {
		case <-ctx.Done():
			return "", nil
		case changed, watched := <-changes:
			if !watched {
				return "", nil
			}
			fmt.Fprintf(o.Out, "\n%s has changed: checking %s\n", filepath.ToSlash(changed), dir)
			running.stop(errChanged)
			running, last = start(), errNotChecked
		case last = <-done:
			running = nil
			if last != nil && !errors.Is(last, exercises.ErrNotBuilt) {
				fmt.Fprintf(o.Out, "%v\n", last)
			}
			fmt.Fprintf(o.Out, "\n%s\n", Keys)
		case key, pressed := <-o.Keys:
			if !pressed {
				o.Keys = nil
				continue
			}
			if leave, to := o.press(ctx, dir, key, last); leave {
				return to, nil
			}
		}
	}
}

// errNotChecked is in place of the outcome of a check that is not over.
var errNotChecked = errors.New("wait for the check: it is not done yet")

// press does what a key asks for, and returns whether to leave this copy, and for which. last is how the last check ended.
func (o Options) press(ctx context.Context, dir string, key rune, last error) (leave bool, to string) {
	var err error
	switch key {
	case 'q', interrupt:
		return true, ""
	case 'h':
		err = o.Hint(dir)
	case 'l':
		err = exercises.List(o.Root, dir, o.Out)
	case 'n':
		if err = last; err == nil {
			to, err = exercises.Next(ctx, o.Root, dir, o.Out)
		}
	default:
		return false, ""
	}
	if err != nil {
		fmt.Fprintln(o.Out, err)
	}
	return to != "", to
}

// interrupt is what a terminal sends for Ctrl-C where that is not a signal.
const interrupt = 3
