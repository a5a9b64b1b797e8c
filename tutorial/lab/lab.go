// Package lab holds the commands of learners, such as testbed lab start and testbed lab check, and those of teachers, such as
// testbed lab class new. The targets of the Makefile call them, in the root of the repository.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// ErrPrinted is the error of a command that has printed why it failed.
var ErrPrinted = exercises.ErrNotBuilt

// Main does what this program was executed again for: that in which a submission has a part. It returns in any other program, and comes first
// in main.
func Main() {
	isolation.Main()
	manifests.Main()
}

// Command returns the command lab. name is the name of the cluster that is shown beside the text.
func Command(name *string) *cobra.Command {
	var stage, dir, task, exercise, step, module, only, fault string
	records := recorder{root: ".", now: time.Now, warn: os.Stderr, patience: time.Second}
	root := &cobra.Command{Use: "lab", Short: "Learn with the tutorial, and teach with it", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringVar(&stage, "stage", "", "the chapter's name")
	root.PersistentFlags().StringVar(&dir, "dir", "", "the directory of the copy")
	root.AddCommand(newPublish())
	add := func(use, short string, needsDir bool, run func(ctx context.Context) error) *cobra.Command {
		command := &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error {
				if needsDir && dir == "" {
					return errors.New("name the directory of your copy: DIR=directory")
				}
				return run(command.Context())
			},
		}
		root.AddCommand(command)
		return command
	}
	add("start", "Make a copy of what a chapter begins with", true, func(ctx context.Context) error {
		return exercises.Start(ctx, ".", stage, dir, os.Stdout)
	})
	check := add("check", "Run the chapter's suite against a copy", true, func(ctx context.Context) error {
		_, err := records.runCheck(ctx, exercises.CheckInput{Dir: dir, Only: only, Out: os.Stdout})
		return err
	})
	check.Flags().StringVar(&only, "only", "", "a regular expression of the features to run; all if empty")
	add("watch", "Check a copy again whenever a file changes", true, func(ctx context.Context) error {
		return records.runWatch(ctx, dir, os.Stdin, os.Stdout)
	})
	broken := add("break", "Make a copy with a fault in it", false, func(ctx context.Context) error {
		return exercises.Break(ctx, ".", fault, dir, os.Stdout)
	})
	broken.Flags().StringVar(&fault, "lab", "", "the name of a break-it lab; the list of them if empty")
	add("reset", "Start over with a copy", true, func(ctx context.Context) error {
		return records.reset(ctx, dir, os.Stdout)
	})
	add("solution", "Make a copy of what a chapter ends with", true, func(ctx context.Context) error {
		return exercises.Solution(ctx, ".", stage, dir, os.Stdout)
	})
	diff := add("diff", "Show what a chapter changes", false, func(ctx context.Context) error {
		number, err := count("STEP", step)
		if err != nil {
			return err
		}
		return exercises.Diff(ctx, ".", stage, number, os.Stdout)
	})
	diff.Flags().StringVar(&step, "step", "", "the number of a step of the chapter; all steps if empty")
	eject := add("eject", "Make a project of an operator", true, func(ctx context.Context) error {
		return exercises.Eject(ctx, ".", stage, dir, module, os.Stdout)
	})
	eject.Flags().StringVar(&module, "module", "", "the name of the project's module")
	hint := add("hint", "Give the next hint about a task or an exercise", false, func(context.Context) error {
		number, err := count("EXERCISE", exercise)
		if err != nil {
			return err
		}
		taskNumber, err := count("TASK", task)
		if err != nil {
			return err
		}
		switch {
		case dir != "" && stage != "":
			return fmt.Errorf("DIR=%s is a copy that knows its chapter: leave STAGE=%s out", dir, stage)
		case task != "" && exercise != "":
			return fmt.Errorf("a hint is for a task or for an exercise: leave TASK=%s or EXERCISE=%s out", task, exercise)
		case stage != "" && task != "":
			return fmt.Errorf("a task is part of a copy: name its directory, DIR=directory, or leave TASK=%s out", task)
		case dir != "":
			return records.runHint(dir, taskNumber, number, os.Stdout)
		case stage != "":
			return records.giveHint("", stage, number, os.Stdout)
		default:
			return errors.New("name the directory of your copy, DIR=directory, or the chapter, STAGE=NN-name")
		}
	})
	hint.Flags().StringVar(&task, "task", "", "the number of the task; if empty, the first with more hints")
	hint.Flags().StringVar(&exercise, "exercise", "", "the number of the exercise; if empty, the first with more hints")
	add("progress", "Show which chapters and labs are done", false, func(context.Context) error {
		return printProgress(".", os.Stdout)
	})
	root.AddCommand(newLearn(&records, name, &stage, &dir), newSubmit(&dir), newClass(&stage, &dir), newGrade(&stage, &dir), newGradeOne(&stage), newSite())
	return root
}

// count returns the number that a variable of the Makefile holds, which counts from 1, and 0 where it holds nothing.
func count(variable, value string) (int, error) {
	if value == "" {
		return 0, nil
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("invalid %s=%s: want a whole number from 1 up, or leave it out", variable, value)
	}
	return number, nil
}
