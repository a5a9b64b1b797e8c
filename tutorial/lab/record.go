package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/host/home"
	boardreport "github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/progress"
)

// recorder records what a learner does, in the copy and on this machine, where it outlives the copy.
type recorder struct {
	root string
	now  func() time.Time
	warn io.Writer // gets a line if something can't be recorded, which stops nobody
	// patience is how long a learner waits for a board at most.
	patience time.Duration
}

// journal returns the file with the events of all copies on this machine.
func journal() (string, error) {
	state, err := home.State()
	return filepath.Join(state, "events.jsonl"), err
}

// checked records a check of the copy in dir that started at begun. A check that was canceled, or failed for other reasons than the
// copy, is not one.
func (r recorder) checked(dir, only string, begun time.Time, results []framework.Result, err error) {
	score := check.ScoreOf(results)
	e := event.Event{
		Kind: event.Check, Only: only, Passed: score.Held, Of: score.Of, FirstFailed: score.First,
		TookMS: r.now().Sub(begun).Milliseconds(),
	}
	notYet := new(exercises.NotYetError)
	switch {
	case err == nil:
		e.Outcome = event.Pass
	case errors.As(err, &notYet):
		e.Outcome = event.Fail
	case errors.Is(err, exercises.ErrNotBuilt):
		e.Outcome = event.NotBuilt
	default:
		return
	}
	r.record(dir, e)
}

// record records an event of the copy in dir.
func (r recorder) record(dir string, e event.Event) {
	if err := r.append(dir, e); err != nil {
		fmt.Fprintf(r.warn, "this %s is not part of make progress: %v\n", e.Kind, err)
	}
}

func (r recorder) append(dir string, e event.Event) error {
	var err error
	if e.Stage, e.Lab, err = exercises.Of(r.root, dir); err != nil {
		return err
	}
	class, err := event.ReadClass(dir)
	if err != nil {
		return err
	}
	e.Class, e.Student = class.Class, class.Student
	file := filepath.Join(dir, event.File)
	before, err := event.Read(file)
	if e.Hints = event.Hints(before); e.Kind == event.Hint {
		e.Hints++
	}
	e.At = r.now().UTC().Truncate(time.Millisecond)
	e, appendErr := event.Append(file, e)
	if class.Board != "" && appendErr == nil {
		r.report(class, dir, append(before, e))
	}
	return errors.Join(err, appendErr, appendToJournal(e))
}

// report sends the events of a copy that the board of its class does not have yet. A board that is not there stops nobody.
func (r recorder) report(class event.Class, dir string, events []event.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), r.patience)
	defer cancel()
	if err := boardreport.Send(ctx, boardreport.Target{URL: class.Board, Token: class.Token}, dir, events); err != nil {
		fmt.Fprintln(r.warn, err)
	}
}

// hinted records a hint about a chapter without a copy.
func (r recorder) hinted(stage string) {
	if err := appendToJournal(event.Event{Stage: stage, Kind: event.Hint, At: r.now().UTC()}); err != nil {
		fmt.Fprintf(r.warn, "this hint is not part of make progress: %v\n", err)
	}
}

func appendToJournal(e event.Event) error {
	file, err := journal()
	if err == nil {
		_, err = event.Append(file, e)
	}
	return err
}

// progressOf returns how far the learner is, across copies. Lines of the journal that can't be read are in the error.
func progressOf(root string) (progress.Progress, error) {
	chapters, labs, err := exercises.Names(root)
	if err != nil {
		return progress.Progress{}, err
	}
	file, err := journal()
	if err != nil {
		return progress.Progress{}, err
	}
	events, err := event.Read(file)
	for i, e := range events {
		if !slices.Contains(chapters, e.Stage) {
			events[i].Stage = chapter.Current(root, e.Stage)
		}
	}
	return progress.Of(chapters, labs, events), err
}

// printProgress prints what is done, across copies.
func printProgress(root string, out io.Writer) error {
	p, err := progressOf(root)
	if len(p.Chapters) > 0 { // or there is nothing to print but the error
		p.Print(out)
	}
	return err
}
