package lab

import (
	"context"
	"io"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// runCheck checks the copy in dir, and records it.
func (r recorder) runCheck(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error) {
	begun := r.now()
	in.Root = r.root
	results, err := exercises.Check(ctx, in)
	r.checked(in.Dir, in.Only, begun, results, err)
	return results, err
}

// runHint prints a hint about the copy in dir, and records it.
func (r recorder) runHint(dir string, task, exercise int, out io.Writer) error {
	err := exercises.Hint(r.root, dir, task, exercise, out)
	if err == nil {
		r.record(dir, event.Event{Kind: event.Hint})
	}
	return err
}
