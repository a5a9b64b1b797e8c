package grading

import (
	"context"
	"errors"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade/build"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
	"github.com/example/operator-testbed/tutorial/internal/trial"
)

// tested is what students write tests of.
type tested struct {
	root    string
	chapter chapter.Chapter
	faults  []trial.Fault
}

func newTested(root string, of chapter.Chapter) (*tested, error) {
	faults, err := trial.Faults(root, of)
	return &tested{root: root, chapter: of, faults: faults}, err
}

// build compiles the tests of a submission with the chapter's operator and its faults. It returns the executable, and the key that chooses among
// the faults, which differs each time.
func (t *tested) build(ctx context.Context, cell build.Cell, o build.Options) (executable string, key trial.Key, usage isolation.Usage, err error) {
	if err := trial.Check(o.Source, t.chapter); err != nil {
		if none := trial.NoTestsError(""); errors.As(err, &none) {
			err = build.RefusedError(none)
		}
		return "", "", usage, err
	}
	key = trial.NewKey()
	if o.Files, err = trial.Files(ctx, t.root, t.chapter, t.faults, key, exercises.Rewriter(t.root, t.chapter).Replace); err != nil {
		return "", "", usage, err
	}
	o.Tests = t.chapter.Tests
	executable, usage, err = build.Build(ctx, cell, o)
	return executable, key, usage, err
}
