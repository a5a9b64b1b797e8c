package grading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
)

// Judge returns a [manifests.RefusedError] if a grader would refuse the manifests of the submission in a directory. It is for those who
// wrote them, who then know it before they hand in: the manifests are rendered in this process, and not in a cell.
func Judge(ctx context.Context, a Assignment, dir string) error {
	of, err := chapter.Read(filepath.Join(a.Root, "tutorial", a.Stage))
	if err != nil {
		return fmt.Errorf("there is no chapter %q: %w", a.Stage, err)
	}
	config := filepath.Join(dir, "config")
	if err := needsManifests(config, !slices.Contains(of.Runs, chapter.RunsNone)); err != nil {
		return err
	}
	if _, err := os.Stat(config); err != nil {
		return nil //nolint:nilerr // an operator may lack it
	}
	rendered, err := manifests.Render(config)
	if err != nil {
		return err
	}
	_, allowed, err := permitted(ctx, a)
	if err != nil {
		return err
	}
	return manifests.Judge(rendered, allowed)
}

// needsManifests refuses an operator that runs, and that nothing installs.
func needsManifests(config string, runs bool) error {
	if _, err := os.Stat(filepath.Join(config, "default")); err != nil && runs {
		return manifests.RefusedError("there is no directory config/default, which installs the operator")
	}
	return nil
}

// permitted returns what manifests of an assignment may contain: what those of its solution do, and of what students begin with. It makes
// both in the directory for work, and returns that of the solution.
func permitted(ctx context.Context, a Assignment) (solution string, allowed manifests.Allowed, err error) {
	solution, given := filepath.Join(a.Work, "solution"), filepath.Join(a.Work, "given")
	err = exercises.Solution(ctx, a.Root, a.Stage, solution, io.Discard)
	if a.Lab != "" {
		err = cmp.Or(err, exercises.Break(ctx, a.Root, a.Lab, given, io.Discard))
	} else {
		err = cmp.Or(err, exercises.Start(ctx, a.Root, a.Stage, given, io.Discard))
	}
	if err == nil {
		allowed, err = allowedBy("the operator of "+a.Stage, solution, given)
	}
	return solution, allowed, err
}

// allowedBy returns what manifests may contain: what those in the directories do.
func allowedBy(owner string, copies ...string) (manifests.Allowed, error) {
	var trusted []manifests.Rendered
	for _, dir := range copies {
		rendered, err := manifests.Render(filepath.Join(dir, "config"))
		if refusal := manifests.RefusedError(""); errors.As(err, &refusal) && dir != copies[0] {
			continue // what a chapter starts with may have gaps that keep it from being rendered
		}
		if err != nil {
			return manifests.Allowed{}, fmt.Errorf("the manifests of %s: %w", owner, err)
		}
		trusted = append(trusted, rendered)
	}
	return manifests.AllowedBy(owner, trusted...)
}
