package exercises

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// Solution makes the new directory dir what the chapter called stage ends with. It is a copy as Start makes one: the two can be
// compared, and checked.
func Solution(ctx context.Context, root, stage, dir string, out io.Writer) error {
	c, err := find(root, stage)
	if err != nil {
		return err
	}
	if err := ejectOperator(ctx, root, c.OperatorDirectory(), stage, dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s now contains the operator of %s. Compare it with your copy: git diff --no-index COPY %s\n", dir, stage, quote(dir))
	return nil
}

// Diff prints what the chapter called stage changes in the operator that it builds on, in the format of git diff: all of it, or
// if step is not 0, that step of it.
func Diff(ctx context.Context, root, stage string, step int, out io.Writer) error {
	c, err := find(root, stage)
	if err != nil {
		return err
	}
	if c.BuildsOn == "" {
		return fmt.Errorf("%s builds on no other chapter: name one that does, such as 04-status", c.Name)
	}
	if step < 0 || step > len(c.Steps) {
		return outOfRange(c, "STEP", step, len(c.Steps))
	}
	work, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, side := range []chapter.Chapter{{Name: c.BuildsOn}, c} {
		code, err := side.Code(filepath.Join(root, "tutorial"))
		if err != nil {
			return err
		}
		if step > 0 {
			maps.DeleteFunc(code, func(file string, _ []byte) bool { return !c.Steps[step-1].Has(file) })
		}
		if err := chapter.Write(filepath.Join(work, side.Name), code); err != nil {
			return err
		}
	}
	return chapter.GitDiff(ctx, work, out, "--no-prefix", c.BuildsOn, c.Name)
}
