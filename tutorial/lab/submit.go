package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// newSubmit returns the command that packs a copy for the teacher.
func newSubmit(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "submit", Short: "Make one archive of a copy, to hand in", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if *dir == "" {
				return errors.New("name the directory of your copy: DIR=directory")
			}
			return submit(command.Context(), ".", *dir, os.Stdout)
		},
	}
}

// submit packs the copy in dir, next to it, unless a grader would refuse it.
func submit(ctx context.Context, root, dir string, out io.Writer) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("there is no directory %s: give that of your copy", dir)
	}
	err := submission.Judge(root, dir)
	if err == nil {
		err = judgeManifests(ctx, root, dir)
	}
	if err != nil {
		return err
	}
	packed, err := submission.Pack(root, dir, "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s has\n", packed.Archive)
	counts, names := map[string]int{}, []string{}
	for _, file := range packed.Files {
		name, _, inside := strings.Cut(file, "/")
		if inside {
			name += "/"
		}
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !strings.HasSuffix(name, "/"):
			fmt.Fprintf(out, "  %s\n", name)
		case counts[name] == 1:
			fmt.Fprintf(out, "  %s (1 file)\n", name)
		default:
			fmt.Fprintf(out, "  %s (%d files)\n", name, counts[name])
		}
	}
	fmt.Fprintf(out, "for %s.", cmp.Or(packed.Lab, packed.Stage))
	if packed.Commit != "" {
		fmt.Fprintf(out, " The commit is %.12s.", packed.Commit)
	}
	if packed.Hints > 0 {
		fmt.Fprintf(out, " Hints: %d.", packed.Hints)
	}
	check := packed.LastCheck
	if check == nil {
		fmt.Fprintf(out, " It was never checked: run make check DIR='%s', and submit again.\n", dir)
		return nil
	}
	fmt.Fprintf(out, " Last check, %s: %d of %d hold.\n", check.At.Local().Format(time.DateTime), check.Passed, check.Of)
	if packed.Changed != "" {
		fmt.Fprintf(out, "Warning: %s has changed since that check: run make check DIR='%s', and submit again.\n",
			packed.Changed, dir)
	}
	return nil
}

// judgeManifests returns why a grader would refuse the manifests of the copy in dir.
func judgeManifests(ctx context.Context, root, dir string) error {
	work, err := os.MkdirTemp("", "submit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	a := grading.Assignment{Root: root, Work: work}
	if a.Stage, a.Lab, err = exercises.Of(root, dir); err != nil {
		return err
	}
	return grading.Judge(ctx, a, dir)
}
