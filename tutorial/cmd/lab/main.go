// Command lab is the learner's loop: make start, check, hint, break, reset, solution, diff.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab: %v\n", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var stage, dir, task, exercise, step, module, only, fault string
	root := &cobra.Command{Use: "lab", Short: "The learner's loop", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringVar(&stage, "stage", "", "the chapter's name")
	root.PersistentFlags().StringVar(&dir, "dir", "", "the directory of the copy")
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
		return exercises.Check(ctx, ".", dir, only, os.Stdout)
	})
	check.Flags().StringVar(&only, "only", "", "a regular expression of the features to run; all, up to the first that fails, if empty")
	broken := add("break", "Make a copy with a fault in it", false, func(ctx context.Context) error {
		return exercises.Break(ctx, ".", fault, dir, os.Stdout)
	})
	broken.Flags().StringVar(&fault, "lab", "", "the name of a break-it lab; the list of them if empty")
	add("reset", "Start over with a copy", true, func(ctx context.Context) error {
		return exercises.Reset(ctx, ".", dir, os.Stdout)
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
	diff.Flags().StringVar(&step, "step", "", "the number of a step of the chapter's; all of it if empty")
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
		case dir != "":
			return exercises.Hint(".", dir, taskNumber, number, os.Stdout)
		case stage != "":
			return exercises.HintAbout(".", stage, filepath.Join("bin", "hints"), number, os.Stdout)
		default:
			return errors.New("name the directory of your copy, DIR=directory, or the chapter, STAGE=NN-name")
		}
	})
	hint.Flags().StringVar(&task, "task", "", "the task's number; the first with more to tell if empty")
	hint.Flags().StringVar(&exercise, "exercise", "", "the exercise's number; the first with more to tell if empty")
	return root
}

// count returns the number that a variable of the Makefile holds, and 0 where it holds nothing.
func count(variable, value string) (int, error) {
	number, err := strconv.Atoi(cmp.Or(value, "0"))
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not a number: give one such as 1", variable, value)
	}
	return number, nil
}
