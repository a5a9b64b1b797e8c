// Package export writes grades for other programs. Each format is a pure function of the canonical results.
//
// A failure of the grader is never a zero: a table leaves such a student out, and JSON and JUnit mark the failure.
package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// JSON and JUnit are the formats that have everything, of a class or of one submission.
const (
	JSON  = "json"
	JUnit = "junit"
)

// row is a row of a gradebook, with the result in the canonical format.
type row struct {
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

// OfClass returns the grades of a class as JSON or JUnit. [Template] is for tables.
func OfClass(format string, g gradebook.Gradebook) ([]byte, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if format == JUnit {
		var results []grade.Result
		for _, row := range g.Rows {
			if row.Result != nil {
				results = append(results, *row.Result)
			}
		}
		return asJUnit(results)
	}
	rows := []row{}
	for _, from := range g.Rows {
		s := from.Student
		to := row{
			Student: s.ID, FirstName: s.FirstName, LastName: s.LastName, Email: s.Email,
			Adjustment: from.Adjustment, Comment: from.Comment, Result: from.Result,
		}
		if !from.SubmittedAt.IsZero() {
			to.SubmittedAt = new(from.SubmittedAt.UTC())
		}
		if points, ok := g.Assignment.Points(from); ok {
			to.RawScore, to.LatePenalty, to.Score, to.MaxScore = &points.Raw, &points.Penalty, &points.Score, &points.Max
		}
		rows = append(rows, to)
	}
	return encode(struct {
		Schema     string    `json:"schema"`
		Assignment string    `json:"assignment"`
		Due        time.Time `json:"due,omitzero"`
		Rows       []row     `json:"rows"`
	}{"lab-gradebook/v1", g.Assignment.Name, g.Assignment.Due.UTC(), rows})
}

// OfSubmission returns the grade of one submission as JSON, which is the canonical format, or as JUnit.
func OfSubmission(format string, r grade.Result) ([]byte, error) {
	if err := gradebook.CheckResult(r); err != nil {
		return nil, err
	}
	switch format {
	case JSON:
		if r.Tests == nil {
			r.Tests = []grade.Test{}
		}
		return encode(r)
	case JUnit:
		return asJUnit([]grade.Result{r})
	}
	return nil, fmt.Errorf("unknown format %q of a submission: use %s or %s", format, JSON, JUnit)
}

// name is what a result is about, such as "04-status", or the name of a lab.
func name(r grade.Result) string {
	if r.Lab != "" {
		return r.Lab
	}
	return r.Stage
}

// feature is a test as a format shows it.
type feature struct {
	grade.Test
	// text is why it does not hold or was skipped.
	text string
}

// features returns those of a submission: what is shown of one is harmless. A submission that could not be graded has a single one,
// which says why, so that every format shows it.
func features(r grade.Result) []feature {
	if r.Status == grade.NotGradable {
		return []feature{{
			Test: grade.Test{Name: "Gradable", Title: "can be graded", Status: grade.Fail, MaxScore: r.MaxScore},
			text: plain.Text(r.Message),
		}}
	}
	var all []feature
	for _, test := range r.Tests {
		text := plain.Text(test.Message)
		if test.Step != "" {
			text = strings.TrimSpace(plain.Line(test.Step) + ": " + text)
		}
		if test.Flaky {
			text = strings.TrimSpace("failed once, and held when it was tried again. " + text)
		}
		test.Name, test.Title = plain.Line(test.Name), plain.Line(test.Title)
		all = append(all, feature{Test: test, text: text})
	}
	return all
}

// counted returns the features that are part of the score.
func counted(r grade.Result) []feature {
	return slices.DeleteFunc(features(r), func(f feature) bool { return f.Status == grade.Skip })
}

// title is the feature's name, and what it is about.
func (f feature) title() string {
	if f.Title == "" {
		return f.Name
	}
	return f.Name + ": " + f.Title
}

// summary is a result in a sentence or two.
func summary(r grade.Result) string {
	if r.Status != grade.Graded {
		return strings.TrimSuffix("This submission could not be graded: "+plain.Text(r.Message), ": ")
	}
	hold, skipped := 0, []string{}
	for _, test := range r.Tests {
		switch test.Status {
		case grade.Pass:
			hold++
		case grade.Skip:
			skipped = append(skipped, plain.Line(test.Name))
		case grade.Fail:
		}
	}
	text := fmt.Sprintf("%d of %d features hold.", hold, len(r.Tests)-len(skipped))
	if len(skipped) > 0 {
		text += " Not tried where this was graded, and not part of the score: " + strings.Join(skipped, ", ") + "."
	}
	return text
}

// encode returns a value as indented JSON for other programs, with < as it is, because this is not HTML.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}
