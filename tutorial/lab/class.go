package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/example/operator-testbed/e2e/confirm"
	"github.com/example/operator-testbed/tutorial/internal/class"
)

// aboutClass gives a command, and those below it, the flag --lab. Before they run, assignment becomes the name of the chapter or of the lab,
// and dir that of the directory of the class, which is called class by default.
func aboutClass(command *cobra.Command, assignment, dir *string) {
	lab := command.PersistentFlags().String("lab", "", "the lab that the class works on, instead of a chapter")
	command.PersistentPreRunE = func(*cobra.Command, []string) error {
		if *lab != "" && *assignment != "" {
			return fmt.Errorf("LAB=%s is what the class works on: leave STAGE=%s out", *lab, *assignment)
		}
		*assignment, *dir = cmp.Or(*assignment, *lab), cmp.Or(*dir, "class")
		return nil
	}
}

// newClass returns the teacher's commands. assignment is a chapter or a lab.
func newClass(assignment, dir *string) *cobra.Command {
	var from, form string
	all := &cobra.Command{Use: "class", Short: "The teacher's commands: hand out to a class, collect, and export grades"}
	aboutClass(all, assignment, dir)
	add := func(use, short string, run func(ctx context.Context) error) *cobra.Command {
		command := &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error { return run(command.Context()) },
		}
		all.AddCommand(command)
		return command
	}
	created := add("new", "Make a class", func(ctx context.Context) error {
		return newClassIn(ctx, *dir, *assignment, from, os.Stdout)
	})
	created.Flags().StringVar(&from, "from", "", "a file with the students (id,name,email[,pair]); no students if empty")
	handout := add("handout", "Make a copy for each student who has none", func(ctx context.Context) error {
		return handOut(ctx, *dir, *assignment, formOf(form), os.Stdout)
	})
	collect := add("collect", "Take in what students have handed in", func(ctx context.Context) error {
		return collectFrom(ctx, *dir, *assignment, from, formOf(form), os.Stdout)
	})
	collect.Flags().StringVar(&from, "from", "", "the directory with the submissions; if empty, the one with the copies that were handed out")
	for _, command := range []*cobra.Command{handout, collect} {
		command.Flags().StringVar(&form, "as", "", fmt.Sprintf("%s, %s or %s; %[1]s if empty", class.Directories, class.Archives, class.Repositories))
	}
	add("forget", "Remove what a class knows about persons", func(ctx context.Context) error {
		return forget(ctx, *dir, os.Stdout)
	})
	all.AddCommand(newServe(dir), newExport(assignment, dir))
	return all
}

func formOf(as string) class.Form { return cmp.Or(class.Form(as), class.Directories) }

func newClassIn(ctx context.Context, dir, assignment, roster string, out io.Writer) error {
	c, err := class.New(ctx, ".", dir, assignment, roster, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The class %s is in %s, with %d students. Next:\n", c.Name, dir, len(c.Students))
	if len(c.Students) == 0 {
		fmt.Fprintf(out, "  add a line with id,name,email for each student to %s/%s\n", dir, class.RosterFile)
	}
	fmt.Fprintf(out, "  set the due dates in %s/%s\n  make class-handout DIR=%[1]s\n", dir, class.File)
	return nil
}

// read returns a class and one of its assignments.
func read(dir, assignment string) (*class.Class, class.Assignment, error) {
	c, err := class.Read(".", dir)
	if err != nil {
		return nil, class.Assignment{}, err
	}
	a, err := c.Assignment(assignment)
	return c, a, err
}

func handOut(ctx context.Context, dir, assignment string, form class.Form, out io.Writer) error {
	c, a, err := read(dir, assignment)
	if err != nil {
		return err
	}
	handed, err := class.Handout(ctx, ".", c, a, form, nil)
	if err == nil || len(handed) > 0 {
		fmt.Fprintf(out, "%s/%s/%s has %d new copies, as %s: %s\n", dir, class.Release, a.Name(), len(handed), form, strings.Join(handed, ", "))
	}
	return err
}

func collectFrom(ctx context.Context, dir, assignment, from string, form class.Form, out io.Writer) error {
	c, a, err := read(dir, assignment)
	if err != nil {
		return err
	}
	collected, err := class.Collect(ctx, ".", c, a, from, form, time.Now())
	if err == nil || len(collected) > 0 {
		report(out, a, c.From(a, from), collected)
	}
	if err != nil {
		return err
	}
	left, err := c.LeftOver(a, from, form)
	for _, one := range left {
		fmt.Fprintf(out, "not collected: %s: %s\n", one.Name, one.Reason)
	}
	return err
}

// report prints what is odd, and then how many were collected of the directory from, with those who are missing or have not begun.
func report(out io.Writer, a class.Assignment, from string, collected []class.Collection) {
	students := map[class.Outcome][]string{}
	for _, one := range collected {
		students[one.Outcome] = append(students[one.Outcome], one.Student.ID)
		if one.Outcome == class.Surplus {
			one.Note = fmt.Sprintf("has had %d attempts: this one was not kept", a.Attempts)
		}
		if one.Note != "" {
			fmt.Fprintf(out, "%s %s: %s\n", one.Student.ID, one.Outcome, one.Note)
		}
	}
	var counts []string
	for _, outcome := range []class.Outcome{class.Collected, class.Unchanged, class.Refused, class.Surplus, class.NotBegun, class.Missing} {
		ids := students[outcome]
		text := fmt.Sprintf("%d %s", len(ids), outcome)
		if (outcome == class.NotBegun || outcome == class.Missing) && len(ids) > 0 {
			text += " (" + strings.Join(ids, ", ") + ")"
		}
		counts = append(counts, text)
	}
	fmt.Fprintf(out, "%s from %s: %s\n", a.Name(), from, strings.Join(counts, ", "))
}

// forget removes what a class knows about persons, once the teacher has agreed.
func forget(ctx context.Context, dir string, out io.Writer) error {
	found, err := class.Personal(dir)
	if err != nil {
		return err
	}
	if os.Getenv("YES") != "1" {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return fmt.Errorf("there is no terminal on which to confirm the removal of %s: add YES=1 to make's command line to agree", strings.Join(found, ", "))
		}
		if err := agree(ctx, os.Stdin, out, fmt.Sprintf("Permanently remove %s? [y/N] ", strings.Join(found, ", "))); err != nil {
			return err
		}
	}
	removed, err := class.Forget(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Removed: %s. Exports and copies elsewhere are still there.\n", strings.Join(removed, ", "))
	return nil
}

// agree returns nil when the answer is yes.
func agree(ctx context.Context, in io.Reader, out io.Writer, question string) error {
	err := confirm.Ask(ctx, in, out, question)
	if errors.Is(err, confirm.ErrDeclined) {
		return errors.New("nothing was removed: the answer was not yes")
	}
	return err
}
