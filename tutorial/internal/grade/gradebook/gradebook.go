// Package gradebook says how many points each student of a class has: what the grader found, what the teacher changed by hand, and
// what being late costs. Exports and feedback show the same points, because they ask here.
package gradebook

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
)

// Gradebook is an assignment of a class, with a row for each student.
type Gradebook struct {
	Assignment Assignment
	Rows       []Row
}

// Assignment is what the class was asked to do.
type Assignment struct {
	// Name is the assignment's name in the school's gradebook, such as "04-status".
	Name string
	// Due is when it was to be handed in. It may be zero.
	Due time.Time
	// MaxScore is the score of the chapter's own solution, for students without a result.
	MaxScore float64
}

// Student is an entry of the roster.
type Student struct {
	ID, FirstName, LastName, Email string
}

// Name returns the name of a student as people say it, or the id if there is no name.
func (s Student) Name() string {
	if name := strings.TrimSpace(s.FirstName + " " + s.LastName); name != "" {
		return name
	}
	return s.ID
}

// Row is what a student has handed in, and what became of it.
type Row struct {
	Student Student
	// Result is what the grader found. It is nil where nothing was handed in, which counts as 0.
	Result *grade.Result
	// SubmittedAt is when the submission was collected, and zero where nothing was handed in.
	SubmittedAt time.Time
	// LatePenalty is how many points being late costs.
	LatePenalty float64
	// Adjustment is added to the score by the teacher, who may say why in Comment.
	Adjustment float64
	Comment    string
}

// Points are the points of a row. Score is what counts: Raw without Penalty.
type Points struct {
	Raw, Penalty, Score, Max float64
}

// Points returns the points of a row, and false if there are none because the grader failed: that is not the student's zero.
func (a Assignment) Points(r Row) (Points, bool) {
	points := Points{Max: a.MaxScore}
	if r.Result != nil {
		switch r.Result.Status {
		case grade.GraderError:
			return Points{}, false
		case grade.Graded:
			points.Raw, points.Max = r.Result.Score, r.Result.MaxScore
		}
	}
	points.Raw = max(0, points.Raw+r.Adjustment)
	points.Penalty = min(r.LatePenalty, points.Raw)
	points.Score = points.Raw - points.Penalty
	return points, true
}

// Number returns points as people write them, with at most four decimals.
func Number(points float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(points, 'f', 4, 64), "0"), ".")
}

// Check returns what is wrong with a gradebook: students without an id or with that of another, and results that contradict
// themselves.
func (g Gradebook) Check() error {
	var all []error
	seen := map[string]bool{}
	for i, row := range g.Rows {
		id := row.Student.ID
		switch {
		case id == "":
			all = append(all, fmt.Errorf("student %d of the roster has no id: give one such as s%02d", i+1, i+1))
		case seen[id]:
			all = append(all, fmt.Errorf("two students of the roster have the id %q: give each an id of their own", id))
		case row.Result != nil && row.Result.Student != id:
			all = append(all, fmt.Errorf("the result of the student %q is about %q: grade this submission again", id, row.Result.Student))
		case row.LatePenalty < 0 || !finite(row.LatePenalty, row.Adjustment):
			all = append(all, fmt.Errorf("the student %q has the penalty %v and the adjustment %v: give a penalty of 0 or more points, and numbers",
				id, row.LatePenalty, row.Adjustment))
		case row.Result != nil:
			all = append(all, CheckResult(*row.Result))
		}
		seen[id] = true
	}
	return errors.Join(all...)
}

// CheckResult returns how a result contradicts itself.
func CheckResult(r grade.Result) error {
	wrong := func(format string, arguments ...any) error {
		return fmt.Errorf("the result of %q in %s %s: grade this submission again", r.Student, r.Stage, fmt.Sprintf(format, arguments...))
	}
	if r.Schema != grade.Schema {
		return wrong("has the schema %q in place of %s", r.Schema, grade.Schema)
	}
	var score, most float64
	for _, test := range r.Tests {
		switch {
		case !finite(test.Score, test.MaxScore) || test.Score < 0 || test.MaxScore < 0:
			return wrong("gives %v of %v points for %s", test.Score, test.MaxScore, test.Name)
		case test.Status == grade.Skip:
		case test.Score > test.MaxScore:
			return wrong("gives %v of %v points for %s", test.Score, test.MaxScore, test.Name)
		case test.Status != grade.Pass && test.Status != grade.Fail:
			return wrong("has the unknown status %q for %s", test.Status, test.Name)
		default:
			score, most = score+test.Score, most+test.MaxScore
		}
	}
	switch r.Status {
	case grade.Graded:
		if !same(r.Score, score) || !same(r.MaxScore, most) {
			return wrong("has %v of %v points, and its features %v of %v", r.Score, r.MaxScore, score, most)
		}
	case grade.NotGradable:
		if r.Score != 0 {
			return wrong("has %v points although it could not be graded", r.Score)
		}
	case grade.GraderError:
	default:
		return wrong("has the unknown status %q", r.Status)
	}
	return nil
}

// same compares sums of fractions, which depend on their order in the last digits.
func same(a, b float64) bool { return finite(a, b) && math.Abs(a-b) < 1e-6 }

func finite(numbers ...float64) bool {
	for _, number := range numbers {
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return false
		}
	}
	return true
}
