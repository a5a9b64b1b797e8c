package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// jsonRow is a row of a gradebook, with the result in the canonical format.
type jsonRow struct {
	Student     string     `json:"student"`
	FirstName   string     `json:"first_name"`
	LastName    string     `json:"last_name"`
	Email       string     `json:"email"`
	SubmittedAt *time.Time `json:"submitted_at"` // null where nothing was handed in
	RawScore    *float64   `json:"raw_score"`    // null where the grader failed
	LatePenalty *float64   `json:"late_penalty"`
	Score       *float64   `json:"score"`
	MaxScore    *float64   `json:"max_score"`
	Adjustment  float64    `json:"adjustment"`
	Comment     string     `json:"comment"`

	Result *grade.Result `json:"result"`
}

func classJSON(g gradebook.Gradebook, _ Options) ([]byte, error) {
	rows := []jsonRow{}
	for _, row := range g.Rows {
		s := row.Student
		out := jsonRow{
			Student: s.ID, FirstName: s.FirstName, LastName: s.LastName, Email: s.Email,
			Adjustment: row.Adjustment, Comment: row.Comment, Result: row.Result,
		}
		if !row.SubmittedAt.IsZero() {
			out.SubmittedAt = new(row.SubmittedAt.UTC())
		}
		if points, ok := g.Assignment.Points(row); ok {
			out.RawScore, out.LatePenalty, out.Score, out.MaxScore = &points.Raw, &points.Penalty, &points.Score, &points.Max
		}
		rows = append(rows, out)
	}
	return encode(struct {
		Schema     string    `json:"schema"`
		Assignment string    `json:"assignment"`
		Due        time.Time `json:"due,omitzero"`
		Rows       []jsonRow `json:"rows"`
	}{"lab-gradebook/v1", g.Assignment.Name, g.Assignment.Due.UTC(), rows}, "  ")
}

// nbgrader writes the columns of `nbgrader export`.
func nbgrader(g gradebook.Gradebook, _ Options) ([]byte, error) {
	records := [][]string{{
		"assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
		"raw_score", "late_submission_penalty", "score", "max_score",
	}}
	for _, row := range g.Rows {
		points, ok := g.Assignment.Points(row)
		if !ok {
			continue
		}
		s := row.Student
		records = append(records, []string{
			g.Assignment.Name, stamp(g.Assignment.Due), stamp(row.SubmittedAt), s.ID, s.LastName, s.FirstName, s.Email,
			gradebook.Number(points.Raw), gradebook.Number(points.Penalty), gradebook.Number(points.Score), gradebook.Number(points.Max),
		})
	}
	return writeCSV(records)
}

// stamp is a time as nbgrader writes it, and empty if there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// moodle writes what Moodle's "Import > CSV file" reads. Grades and feedback are mapped together there.
func moodle(g gradebook.Gradebook, _ Options) ([]byte, error) {
	records := [][]string{{"ID number", "Email address", plain.Line(g.Assignment.Name), "Feedback"}}
	for _, row := range g.Rows {
		points, ok := g.Assignment.Points(row)
		if !ok {
			continue
		}
		records = append(records, []string{row.Student.ID, row.Student.Email, gradebook.Number(points.Score), moodleFeedback(row, points)})
	}
	return writeCSV(records)
}

// moodleFeedback is the feedback of a row as HTML, because that is what Moodle takes it for.
func moodleFeedback(row gradebook.Row, points gradebook.Points) string {
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
	return strings.ReplaceAll(html.EscapeString(strings.Join(lines, "\n")), "\n", "<br>")
}

// writeCSV writes records, and makes no cell a formula.
func writeCSV(records [][]string) ([]byte, error) {
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	for _, record := range records {
		cells := make([]string, len(record))
		for i, cell := range record {
			cells[i] = plain.Cell(plain.Text(cell))
		}
		if err := writer.Write(cells); err != nil {
			return nil, err
		}
	}
	writer.Flush()
	return out.Bytes(), writer.Error()
}

// canvasColumns are the columns of a Canvas Gradebook export that identify a student, the best one first.
var canvasColumns = []string{"SIS User ID", "SIS Login ID", "ID"}

// canvas fills a column of a Gradebook export. It adds no columns and no rows, because Canvas makes new assignments of unknown
// columns, and refuses unknown students after the upload, where nobody sees which.
func canvas(g gradebook.Gradebook, o Options) ([]byte, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(o.Canvas, []byte("\ufeff"))))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the Canvas export: %w: export the Gradebook as CSV again", err)
	}
	if len(records) < 2 {
		return nil, fmt.Errorf("the Canvas export has %d lines: export the Gradebook of a course with students as CSV", len(records))
	}
	name := o.CanvasColumn
	if name == "" {
		name = g.Assignment.Name
	}
	column, err := canvasColumn(records[0], name)
	if err != nil {
		return nil, err
	}
	for _, row := range g.Rows {
		line, err := canvasLine(records, row.Student)
		if err != nil {
			return nil, err
		}
		if points, ok := g.Assignment.Points(row); ok {
			for len(records[line]) <= column {
				records[line] = append(records[line], "")
			}
			records[line][column] = gradebook.Number(points.Score)
		}
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	for i, record := range records {
		for j, cell := range record {
			if i > 0 { // Canvas compares the first line with its own columns.
				record[j] = plain.Cell(cell)
			}
		}
	}
	err = writer.WriteAll(records)
	return out.Bytes(), err
}

// canvasColumn returns the index of an assignment's column. Canvas adds the assignment's number to its name.
func canvasColumn(header []string, name string) (int, error) {
	var found []int
	for i, cell := range header {
		rest, ok := strings.CutPrefix(cell, name)
		number, bracket := strings.CutPrefix(strings.TrimSuffix(rest, ")"), " (")
		if _, err := strconv.ParseUint(number, 10, 64); ok && (rest == "" || bracket && err == nil) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("the Canvas export has no column %q: create the assignment in Canvas, export the Gradebook again, and name the column", name)
	default:
		return 0, fmt.Errorf("the Canvas export has %d columns %q: name one with its number, such as %q", len(found), name, header[found[0]])
	}
}

// canvasLine returns the index of a student's line.
func canvasLine(records [][]string, s gradebook.Student) (int, error) {
	for _, name := range canvasColumns {
		column := slices.Index(records[0], name)
		if column < 0 {
			continue
		}
		var found []int
		for i, record := range records[1:] {
			if column < len(record) && record[column] != "" && (record[column] == s.ID || s.Email != "" && strings.EqualFold(record[column], s.Email)) {
				found = append(found, i+1)
			}
		}
		switch {
		case len(found) > 1:
			return 0, fmt.Errorf("the Canvas export has the student %q (%s) on the lines %d and %d: remove one",
				s.ID, plain.Line(s.Name()), found[0]+1, found[1]+1)
		case len(found) == 1:
			return found[0], nil
		}
	}
	return 0, fmt.Errorf("the Canvas export has no student %q (%s): use the SIS id or the login of Canvas as the id or email in the roster",
		s.ID, plain.Line(s.Name()))
}
