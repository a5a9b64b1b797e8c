package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	// column is the name of the assignment's column in the school's gradebook.
	column string
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
	flags.StringVar(&in.format, "format", "", formats())
	flags.StringVar(&in.out, "out", "", "the file to write")
	flags.StringVar(&in.column, "column", "", "the name of the assignment's column in the gradebook; if empty, the name of the assignment")
	return command
}

// formats says what FORMAT may be.
func formats() string {
	return strings.Join(append(export.Templates(), export.JSON, export.JUnit), ", ") + ", or a template in a file such as grades.csv"
}

// writer returns what writes a gradebook in the format, or what is wrong with the command before anything else is read.
func (in exportInput) writer() (func(gradebook.Gradebook) ([]byte, error), error) {
	everything := in.format == export.JSON || in.format == export.JUnit
	switch {
	case in.format == "":
		return nil, fmt.Errorf("name the format, FORMAT=name: %s", formats())
	case in.out == "":
		return nil, errors.New("name the file to write: OUT=file")
	case everything && in.column != "":
		return nil, fmt.Errorf("the format %s has no columns: leave out COLUMN", in.format)
	case everything:
		return func(book gradebook.Gradebook) ([]byte, error) { return export.OfClass(in.format, book) }, nil
	}
	template, err := export.ReadTemplate(in.format)
	return func(book gradebook.Gradebook) ([]byte, error) { return template.OfClass(book, in.column) }, err
}

func exportClass(in exportInput, out io.Writer) error {
	write, err := in.writer()
	if err != nil {
		return err
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
	text, err := write(book)
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
