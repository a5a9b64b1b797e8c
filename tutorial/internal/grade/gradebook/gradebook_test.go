package gradebook_test

import (
	"math"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
)

// graded returns a result of three features, of which one was skipped.
func graded(changes ...func(*grade.Result)) *grade.Result {
	result := &grade.Result{
		Schema: grade.Schema, Student: "s01", Stage: "04-status", Status: grade.Graded, Score: 1, MaxScore: 3,
		Tests: []grade.Test{
			{Name: "TestA", Status: grade.Pass, Score: 1, MaxScore: 1},
			{Name: "TestB", Status: grade.Fail, MaxScore: 2},
			{Name: "TestC", Status: grade.Skip, MaxScore: 5},
		},
	}
	for _, change := range changes {
		change(result)
	}
	return result
}

func status(s grade.Status) func(*grade.Result) { return func(r *grade.Result) { r.Status = s } }

func TestPoints(t *testing.T) {
	assignment := gradebook.Assignment{MaxScore: 3}
	for _, test := range []struct {
		name string
		row  gradebook.Row
		want gradebook.Points
		ok   bool
	}{
		{"graded", gradebook.Row{Result: graded()}, gradebook.Points{Raw: 1, Score: 1, Max: 3}, true},
		{"nothing handed in", gradebook.Row{}, gradebook.Points{Max: 3}, true},
		{"not gradable", gradebook.Row{Result: graded(status(grade.NotGradable))}, gradebook.Points{Max: 3}, true},
		{"the grader failed", gradebook.Row{Result: graded(status(grade.GraderError)), Adjustment: 1}, gradebook.Points{}, false},
		{"late", gradebook.Row{Result: graded(), LatePenalty: 0.5}, gradebook.Points{Raw: 1, Penalty: 0.5, Score: 0.5, Max: 3}, true},
		{"very late", gradebook.Row{Result: graded(), LatePenalty: 9}, gradebook.Points{Raw: 1, Penalty: 1, Max: 3}, true},
		{"adjusted", gradebook.Row{Result: graded(), Adjustment: 1.5}, gradebook.Points{Raw: 2.5, Score: 2.5, Max: 3}, true},
		{"adjusted to nothing", gradebook.Row{Result: graded(), Adjustment: -9, LatePenalty: 1}, gradebook.Points{Max: 3}, true},
		{"not gradable, and adjusted", gradebook.Row{Result: graded(status(grade.NotGradable)), Adjustment: 2}, gradebook.Points{Raw: 2, Score: 2, Max: 3}, true},
	} {
		if got, ok := assignment.Points(test.row); got != test.want || ok != test.ok {
			t.Errorf("%s: got %+v, %t, expected %+v, %t", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestCheck(t *testing.T) {
	row := func(id string, changes ...func(*grade.Result)) gradebook.Row {
		return gradebook.Row{Student: gradebook.Student{ID: id}, Result: graded(changes...)}
	}
	for _, test := range []struct {
		name string
		rows []gradebook.Row
		want string // empty if nothing is wrong
	}{
		{"fine", []gradebook.Row{row("s01"), {Student: gradebook.Student{ID: "s02"}}}, ""},
		{"no points where the grader failed", []gradebook.Row{row("s01", func(r *grade.Result) { r.Status, r.Score, r.Tests = grade.GraderError, 0, nil })}, ""},
		{"no id", []gradebook.Row{{}}, "student 1 of the roster has no id"},
		{"an id twice", []gradebook.Row{row("s01"), row("s01")}, `two students of the roster have the id "s01"`},
		{"another's result", []gradebook.Row{row("s02")}, `the result of the student "s02" is about "s01"`},
		{"a negative penalty", []gradebook.Row{{Student: gradebook.Student{ID: "s01"}, LatePenalty: -1}}, "has the penalty -1"},
		{"no number", []gradebook.Row{{Student: gradebook.Student{ID: "s01"}, Adjustment: math.NaN()}}, "the adjustment NaN"},
		{"another schema", []gradebook.Row{row("s01", func(r *grade.Result) { r.Schema = "lab-grade/v0" })}, `has the schema "lab-grade/v0"`},
		{"a wrong sum", []gradebook.Row{row("s01", func(r *grade.Result) { r.Score = 2 })}, "has 2 of 3 points, and its features 1 of 3"},
		{"a skipped feature that counts", []gradebook.Row{row("s01", func(r *grade.Result) { r.MaxScore = 8 })}, "has 1 of 8 points, and its features 1 of 3"},
		{"too many points", []gradebook.Row{row("s01", func(r *grade.Result) { r.Tests[0].Score, r.Score = 2, 2 })}, "gives 2 of 1 points for TestA"},
		{"negative points", []gradebook.Row{row("s01", func(r *grade.Result) { r.Tests[0].Score = -1 })}, "gives -1 of 1 points for TestA"},
		{"an unknown outcome", []gradebook.Row{row("s01", func(r *grade.Result) { r.Tests[0].Status = "" })}, `unknown status "" for TestA`},
		{"an unknown status", []gradebook.Row{row("s01", status("done"))}, `unknown status "done"`},
		{"points for nothing", []gradebook.Row{row("s01", status(grade.NotGradable))}, "has 1 points although it could not be graded"},
	} {
		err := gradebook.Gradebook{Rows: test.rows}.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, expected %q", test.name, err, test.want)
		}
	}
}

func TestName(t *testing.T) {
	for want, student := range map[string]gradebook.Student{
		"Ada Lovelace": {ID: "s01", FirstName: "Ada", LastName: "Lovelace"},
		"Ada":          {ID: "s01", FirstName: "Ada"},
		"s01":          {ID: "s01"},
	} {
		if got := student.Name(); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for want, points := range map[string]float64{"0": 0, "10": 10, "4.5": 4.5, "0.3333": 1.0 / 3, "0.3": 0.1 + 0.2} {
		if got := gradebook.Number(points); got != want {
			t.Errorf("got %s, expected %s", got, want)
		}
	}
}
