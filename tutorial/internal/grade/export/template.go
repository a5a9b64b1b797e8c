package export

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

//go:embed templates
var templates embed.FS

// Templates returns the names of the templates that are part of the program, such as "moodle", sorted.
func Templates() []string {
	files, err := fs.Glob(templates, "templates/*.csv")
	if err != nil {
		panic(err) // The pattern is a constant.
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".csv")
	}
	return files
}

// Template is a table of grades: a CSV file of two lines, the header and a student's line. Each cell is a text/template, of [Cells].
type Template struct {
	header, student []*template.Template
}

// Cells are what the cells of a template can refer to. A header has only Assignment, Due and Column.
type Cells struct {
	// Assignment is the name of the assignment, such as "04-status", and Column that of its column in the gradebook.
	Assignment, Column string
	// Due and Submitted are times such as "2026-11-21 12:00:00", in UTC. They are empty where there is none.
	Due, Submitted string

	ID, FirstName, LastName, Email string
	// Raw is the score before the penalty for being late, Score what counts, and Max what the solution reaches.
	Raw, Penalty, Score, Max string

	feedback []string
}

// Feedback returns what a student should know, in lines.
func (c Cells) Feedback() string { return strings.Join(c.feedback, "\n") }

// FeedbackHTML returns the same as HTML, because that is what Moodle takes it for.
func (c Cells) FeedbackHTML() string {
	return strings.ReplaceAll(html.EscapeString(c.Feedback()), "\n", "<br>")
}

// ReadTemplate returns the template of that name, or the one in that file, whose name ends in .csv.
func ReadTemplate(name string) (Template, error) {
	if !strings.HasSuffix(name, ".csv") {
		text, err := templates.ReadFile("templates/" + name + ".csv")
		if err != nil {
			return Template{}, fmt.Errorf("unknown format %q of a class: use %s, %s, %s, or your own template in a file such as grades.csv",
				name, JSON, JUnit, strings.Join(Templates(), ", "))
		}
		return ParseTemplate(text)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return Template{}, fmt.Errorf("read the template: %w: name one of %s, or a file", err, strings.Join(Templates(), ", "))
	}
	t, err := ParseTemplate(text)
	if err != nil {
		return Template{}, fmt.Errorf("the template %s: %w", name, err)
	}
	return t, nil
}

// ParseTemplate returns the template in text. A template whose cells refer to what there is not is an error here, and not for the
// first student.
func ParseTemplate(text []byte) (Template, error) {
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))).ReadAll()
	if err != nil {
		return Template{}, fmt.Errorf("%w: write it as CSV", err)
	}
	if len(records) != 2 {
		return Template{}, fmt.Errorf("it has %d lines: write two, the header and a student's", len(records))
	}
	var t Template
	for i, cells := range []*[]*template.Template{&t.header, &t.student} {
		for _, cell := range records[i] {
			parsed, err := template.New("cell").Parse(cell)
			if err != nil {
				return Template{}, fmt.Errorf("the cell %q: %w", cell, err)
			}
			*cells = append(*cells, parsed)
		}
		if _, err := render(*cells, Cells{}); err != nil {
			return Template{}, err
		}
	}
	if !slices.ContainsFunc(records[1], func(cell string) bool { return strings.Contains(cell, ".Score") }) {
		return Template{}, errors.New("no cell of a student's line has the grade: write {{.Score}} in one")
	}
	return t, nil
}

// OfClass returns the grades of a class as CSV. Column is the name of the assignment's column in the gradebook, or empty if it is that
// of the assignment. No cell is a formula.
func (t Template) OfClass(g gradebook.Gradebook, column string) ([]byte, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if column == "" {
		column = g.Assignment.Name
	}
	common := Cells{Assignment: g.Assignment.Name, Column: column, Due: stamp(g.Assignment.Due)}
	header, err := render(t.header, common)
	if err != nil {
		return nil, err
	}
	records := [][]string{header}
	for _, row := range g.Rows {
		points, ok := g.Assignment.Points(row)
		if !ok {
			continue
		}
		cells, s := common, row.Student
		cells.Submitted, cells.ID, cells.FirstName, cells.LastName, cells.Email = stamp(row.SubmittedAt), s.ID, s.FirstName, s.LastName, s.Email
		cells.Raw, cells.Penalty = gradebook.Number(points.Raw), gradebook.Number(points.Penalty)
		cells.Score, cells.Max = gradebook.Number(points.Score), gradebook.Number(points.Max)
		cells.feedback = feedback(row, points)
		record, err := render(t.student, cells)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	var out bytes.Buffer
	err = csv.NewWriter(&out).WriteAll(records)
	return out.Bytes(), err
}

// render returns the cells of a line, as a spreadsheet may read them.
func render(line []*template.Template, cells Cells) ([]string, error) {
	record := make([]string, len(line))
	for i, cell := range line {
		var out strings.Builder
		if err := cell.Execute(&out, cells); err != nil {
			return nil, fmt.Errorf("the cell %q: %w", cell.Root, err)
		}
		record[i] = plain.Cell(plain.Text(out.String()))
	}
	return record, nil
}

// stamp is a time in UTC, and empty if there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// feedback is what a student should know about a row.
func feedback(row gradebook.Row, points gradebook.Points) []string {
	lines := []string{"Nothing was handed in."}
	if row.Result != nil {
		lines[0] = summary(*row.Result)
	}
	if points.Penalty > 0 {
		lines = append(lines, fmt.Sprintf("Late: %s points less.", gradebook.Number(points.Penalty)))
	}
	// What may be cut off comes last.
	if comment := plain.Text(row.Comment); comment != "" {
		lines = append(lines, "Your teacher: "+comment)
	}
	if row.Result != nil && row.Result.Status == grade.Graded {
		for _, f := range counted(*row.Result) {
			if f.Status == grade.Fail {
				lines = append(lines, f.title()+": "+f.text)
			}
		}
	}
	return lines
}
