// Package export writes grades in the formats of gradebooks and graders. Each format is a pure function of the canonical results:
// what a gradebook reads is about a class, what runs inside somebody else's grader is about one submission.
//
// A failure of the grader is never a zero. Formats of a class leave such a student out, or mark the failure; formats of a submission
// without a way to say so return a [GraderFailedError], so that the grader around it reports a failure of its own.
package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// Options are what single formats need beyond grades.
type Options struct {
	// Canvas is the Gradebook export that "canvas" fills, and CanvasColumn the column's name there, by default that of the assignment.
	Canvas       []byte
	CanvasColumn string
	// Classroom50 says which submission "classroom50" is about.
	Classroom50 Submission
	// VPLMax is the highest grade of the VPL activity, by default 10.
	VPLMax float64
}

// GraderFailedError says that there is no grade to export, because the grader failed.
type GraderFailedError struct{ Message string }

func (e *GraderFailedError) Error() string {
	return fmt.Sprintf("the grader failed, so there is no grade to write: %s: grade this submission again", plain.Line(e.Message))
}

var classFormats = map[string]func(gradebook.Gradebook, Options) ([]byte, error){
	"canvas":   canvas,
	"json":     classJSON,
	"junit":    classJUnit,
	"moodle":   moodle,
	"nbgrader": nbgrader,
}

var submissionFormats = map[string]func(grade.Result, Options) ([]byte, error){
	"autolab":      autolab,
	"classroom50":  classroom50,
	"coderunner":   codeRunner,
	"github":       github,
	"gradescope":   gradescope,
	"json":         submissionJSON,
	"junit":        submissionJUnit,
	"prairielearn": prairieLearn,
	"vpl":          vpl,
}

// ClassFormats and SubmissionFormats are the formats' names, sorted.
var (
	ClassFormats      = slices.Sorted(maps.Keys(classFormats))
	SubmissionFormats = slices.Sorted(maps.Keys(submissionFormats))
)

// OfClass returns the grades of a class in a format.
func OfClass(format string, g gradebook.Gradebook, o Options) ([]byte, error) {
	write, ok := classFormats[format]
	if !ok {
		return nil, unknown(format, "a class", ClassFormats)
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	return write(g, o)
}

// OfSubmission returns the grade of one submission in a format.
func OfSubmission(format string, r grade.Result, o Options) ([]byte, error) {
	write, ok := submissionFormats[format]
	if !ok {
		return nil, unknown(format, "a submission", SubmissionFormats)
	}
	if err := gradebook.CheckResult(r); err != nil {
		return nil, err
	}
	return write(r, o)
}

func unknown(format, what string, known []string) error {
	return fmt.Errorf("unknown format %q of %s: use one of %s", format, what, strings.Join(known, ", "))
}

// name is what a result is about, such as "05-status", or the name of a lab.
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

// encode returns a value as JSON for other programs: one line, or indented, with < as it is, because this is not HTML.
func encode(value any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return out.Bytes(), err
}
