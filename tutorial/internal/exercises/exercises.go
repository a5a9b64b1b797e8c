// Package exercises lets a learner write a chapter's operator: it makes a copy of the operator that the chapter builds on, runs the
// chapter's suite against the copy, gives hints, starts over, and shows the solution. It also makes copies with a fault in them, for
// a learner to fix.
package exercises

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/eject"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// moduleName is the name of a copy's module.
const moduleName = "example.com/memcached-operator"

// Start makes the directory dir a copy of what the chapter called stage starts with, in the repository at root, and prints the
// chapter's goal.
func Start(ctx context.Context, root, stage, dir string, out io.Writer) error {
	c, err := find(root, stage)
	if err != nil {
		return err
	}
	began, err := begin(ctx, root, c, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s now contains %s. Your goal: %s.\n\n", dir, began, c.Outcome)
	if len(c.Tasks) > 0 {
		fmt.Fprintf(out, "Read tutorial/%s/README.md. You are going to write:\n", stage)
		for i, task := range c.Tasks {
			fmt.Fprintf(out, "  %d. %s (%s)\n", i+1, task.Goal, task.File)
		}
		fmt.Fprintf(out, "\nRun make check DIR=%s to see how far you are, and make hint DIR=%[1]s if you are stuck.\n", quote(dir))
		return nil
	}
	fmt.Fprintf(out, "Read tutorial/%s/README.md. The chapter changes\n", stage)
	for _, file := range c.Changes {
		fmt.Fprintf(out, "  %s\n", file)
	}
	for i, step := range c.Steps {
		fmt.Fprintf(out, "  %s, to %s (make diff STAGE=%s STEP=%d)\n", strings.Join(step.Files, ", "), step.Title, stage, i+1)
	}
	fmt.Fprintf(out, "\nRun make check DIR=%s to see how far you are.\n", quote(dir))
	return nil
}

// plain are the characters that mean nothing to a shell.
var plain = regexp.MustCompile(`^[\w./+:@%-]+$`)

// quote returns text as one word of a command that somebody may type.
func quote(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// todo is the name of the patch, in a chapter's directory start, that takes out of its operator what a learner is to write.
const todo = "todo"

// begin makes the directory dir a copy of what the chapter c starts with, and returns a description of it: the chapter's own
// operator with parts to fill in, or the operator of the chapter that it builds on.
func begin(ctx context.Context, root string, c chapter.Chapter, dir string) (string, error) {
	gaps, ok, err := Gaps(root, c)
	if err != nil {
		return "", err
	}
	if !ok {
		return "the operator of " + c.BuildsOn, ejectOperator(ctx, root, "tutorial/"+c.BuildsOn, c.Name, dir)
	}
	return "the start of " + c.Name, ejectPatched(ctx, root, gaps, c, dir)
}

// Gaps returns the patch that takes out of the operator of c what a learner is to write, if it has one.
func Gaps(root string, c chapter.Chapter) (gaps mutant.Mutant, ok bool, err error) {
	directory := filepath.Join(root, "tutorial", c.Name, "start")
	if _, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) {
		return mutant.Mutant{}, false, nil
	}
	gaps, err = patchIn(directory, todo)
	return gaps, err == nil, err
}

// patchIn returns the patch of that name in a directory.
func patchIn(directory, name string) (mutant.Mutant, error) {
	patches, err := mutant.Read(directory)
	if err != nil {
		return mutant.Mutant{}, err
	}
	i := slices.IndexFunc(patches, func(m mutant.Mutant) bool { return m.Name == name })
	if i < 0 {
		return mutant.Mutant{}, fmt.Errorf("there is no %s.patch in %s", name, directory)
	}
	return patches[i], nil
}

// find returns the chapter of that name.
func find(root, stage string) (chapter.Chapter, error) {
	chapters, err := chapter.ReadAll(filepath.Join(root, "tutorial"))
	if err != nil {
		return chapter.Chapter{}, err
	}
	var names []string
	for _, c := range chapters {
		if c.Name == stage {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return chapter.Chapter{}, noChapter(root, stage, names)
}

// noChapter returns the error for a stage that is unknown or was not given.
func noChapter(root, stage string, names []string) error {
	if stage == "" {
		return fmt.Errorf("name the chapter, STAGE=quickstart or STAGE=NN-name: one of %s", strings.Join(names, ", "))
	}
	if err := chapter.RenamedError(root, stage); err != nil {
		return err
	}
	return fmt.Errorf("there is no STAGE=%s: use one of %s", stage, strings.Join(names, ", "))
}

// ejectOperator makes the directory dir the operator in a directory of the repository, for somebody who is at work on stage.
func ejectOperator(ctx context.Context, root, operator, stage, dir string) error {
	return ejectWith(ctx, root, "", operator, stage, dir)
}

// ejectPatched makes the directory dir the operator of c with a patch applied.
func ejectPatched(ctx context.Context, root string, patch mutant.Mutant, c chapter.Chapter, dir string) error {
	work, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	patched, err := patch.Apply(ctx, root, c.OperatorDirectory()+"/config", work)
	if err != nil {
		return err
	}
	return ejectWith(ctx, root, patched.Tree, c.OperatorDirectory(), c.Name, dir)
}

// ejectWith is ejectOperator with the files of the directory instead, as in eject.Options.
func ejectWith(ctx context.Context, root, instead, operator, stage, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, submission.StageFile)); err == nil {
		if earlier, err := stageOf(root, dir); err == nil && earlier != stage {
			return fmt.Errorf("%s is already a copy, for %s: name a new directory for %s", dir, earlier, stage)
		}
		return fmt.Errorf("%s is already a copy: continue with it, start over with make reset DIR=%s, or name a new or empty directory", dir, quote(dir))
	}
	options := copyOptions(root, operator)
	options.Instead, options.To = instead, dir
	var err error
	if options.GNUmakefile, err = scripts(root, "go-settings.mk", "protected.mk", "outside-root.mk"); err != nil {
		return err
	}
	if err := eject.Eject(ctx, options); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, submission.StageFile), []byte(stage+"\n"), 0o644)
}

// scripts returns the text of files in the repository's directory scripts, one after another.
func scripts(root string, names ...string) (string, error) {
	var text strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, "scripts", name))
		if err != nil {
			return "", err
		}
		text.Write(content)
	}
	return text.String(), nil
}

// Rewriter returns what replaces the names of an operator in the repository by those of a learner's copy.
func Rewriter(root string, c chapter.Chapter) *strings.Replacer {
	return copyOptions(root, c.OperatorDirectory()).Rewriter()
}

// copyOptions says how a learner's copy of an operator is made.
func copyOptions(root, operator string) eject.Options {
	without := chapter.Own
	if operator == eject.Operator {
		without = eject.OperatorOwn
	}
	return eject.Options{Root: root, Directory: operator, Module: moduleName, Without: without}
}

// stageOf returns which chapter the copy in dir is for. A copy that was made before a chapter was renamed has its former name.
func stageOf(root, dir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, submission.StageFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return chapter.Current(root, strings.TrimSpace(string(content))), err
	}
	problem := dir + " was not made by make start or make break"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		problem = "there is no directory " + dir
	}
	if copies := copiesBeside(dir); len(copies) > 0 {
		return "", fmt.Errorf("%s: give the directory of a copy, such as %s", problem, strings.Join(copies, ", "))
	}
	return "", fmt.Errorf("%s: give the directory of a copy, which make start makes", problem)
}

// copiesBeside returns the copies in the directory in which dir is or would be.
func copiesBeside(dir string) []string {
	stages, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", submission.StageFile)) // a name that is a bad pattern has none
	var copies []string
	for _, stage := range stages {
		if name := filepath.Base(filepath.Dir(stage)); !strings.Contains(name, ".before-") { // what make reset keeps
			copies = append(copies, filepath.Dir(stage))
		}
	}
	return copies
}

// chapterOf returns the chapter that the copy in dir is for.
func chapterOf(root, dir string) (chapter.Chapter, error) {
	stage, err := stageOf(root, dir)
	if err != nil {
		return chapter.Chapter{}, err
	}
	return find(root, stage)
}

// Of returns the names of the chapter and of the break-it lab that the copy in dir is for; lab is empty if it is not for one.
func Of(root, dir string) (stage, lab string, err error) {
	if stage, err = stageOf(root, dir); err != nil {
		return "", "", err
	}
	fault, _, err := faultIn(root, dir)
	return stage, fault.Name, err
}

// Names returns the names of all chapters and of all break-it labs of the repository at root, in their order.
func Names(root string) (chapters, labs []string, err error) {
	all, err := chapter.ReadAll(filepath.Join(root, "tutorial"))
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		chapters = append(chapters, c.Name)
	}
	faults, err := Faults(root)
	for _, fault := range faults {
		labs = append(labs, fault.Name)
	}
	return chapters, labs, err
}
