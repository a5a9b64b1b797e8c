package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
	"github.com/example/operator-testbed/tutorial/internal/grade/export"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
)

// exportInput says which grades to write, how and where.
type exportInput struct {
	dir, assignment, format, out string
	// from is the Gradebook export that Canvas needs, and column the name of the assignment's column in it.
	from, column string
}

// newExport returns the command that writes the grades of a class for a gradebook.
func newExport(assignment, dir *string) *cobra.Command {
	var in exportInput
	command := &cobra.Command{
		Use: "export", Short: "Write the grades for the school's gradebook", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			in.dir, in.assignment = *dir, *assignment
			return exportClass(in, os.Stdout)
		},
	}
	flags := command.Flags()
	flags.StringVar(&in.format, "format", "", strings.Join(export.ClassFormats, ", "))
	flags.StringVar(&in.out, "out", "", "the file to write")
	flags.StringVar(&in.from, "from", "", "for canvas, the Gradebook as Canvas exports it")
	flags.StringVar(&in.column, "column", "", "for canvas, the name of the assignment there; as it is called here if empty")
	return command
}

// check returns what is wrong with the command before anything is read.
func (in exportInput) check() error {
	canvas := in.format == "canvas"
	switch {
	case in.dir == "":
		return errors.New("name the directory of the class: DIR=directory")
	case in.format == "":
		return fmt.Errorf("name the format, FORMAT=name: one of %s", strings.Join(export.ClassFormats, ", "))
	case !slices.Contains(export.ClassFormats, in.format):
		return fmt.Errorf("unknown format %q of a class: use FORMAT= and one of %s", in.format, strings.Join(export.ClassFormats, ", "))
	case in.out == "":
		return errors.New("name the file to write: OUT=file")
	case canvas && in.from == "":
		return errors.New("the format canvas fills a column of a Gradebook: export that from Canvas, and name it: FROM=file.csv")
	case !canvas && in.from+in.column != "":
		return fmt.Errorf("the format %s is made from the grades alone: leave out FROM and COLUMN, which are for canvas", in.format)
	}
	return nil
}

func exportClass(in exportInput, out io.Writer) error {
	if err := in.check(); err != nil {
		return err
	}
	options := export.Options{CanvasColumn: in.column}
	if in.from != "" {
		var err error
		if options.Canvas, err = os.ReadFile(in.from); err != nil {
			return fmt.Errorf("read the Gradebook of Canvas: %w: name a file with FROM", err)
		}
	}
	c, a, err := read(in.dir, in.assignment)
	if err != nil {
		return err
	}
	if err := c.CheckExport(in.out); err != nil {
		return err
	}
	book, err := classroom.Finished(c, a)
	if err != nil {
		return err
	}
	text, err := export.OfClass(in.format, book, options)
	if err != nil {
		return err
	}
	if err := errors.Join(c.NoteExport(text), batch.WriteFile(in.out, text)); err != nil {
		return fmt.Errorf("write the grades: %w", err)
	}
	fmt.Fprintf(out, "%s has the grades of %s, as %s: %s\n", in.out, a.Name(), in.format, countRows(book))
	return nil
}

// countRows says how many students have a grade, and names those who have none or a zero because there was nothing to grade.
func countRows(book gradebook.Gradebook) string {
	var failed, nothing []string
	for _, row := range book.Rows {
		switch _, ok := book.Assignment.Points(row); {
		case !ok:
			failed = append(failed, row.Student.ID)
		case row.Result == nil:
			nothing = append(nothing, row.Student.ID)
		}
	}
	text := fmt.Sprintf("%d of %d students", len(book.Rows)-len(failed), len(book.Rows))
	if len(nothing) > 0 {
		text += fmt.Sprintf("; %s handed in nothing, which is a zero", strings.Join(nothing, ", "))
	}
	if len(failed) > 0 {
		text += fmt.Sprintf("; %s without a grade, because the grader failed: grade again", strings.Join(failed, ", "))
	}
	return text
}
