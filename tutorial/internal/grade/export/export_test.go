package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/export"
	"github.com/example/operator-testbed/tutorial/internal/grade/golden"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
)

// hostile is a message as a student's operator may cause one: a terminal's commands, HTML, a formula, and the tags of graders.
const hostile = "\x1b[31mexpected\x1b[0m 3; last seen: 2\x07\n=cmd|' /C calc'!A0\n<img src=x onerror=alert(1)> ]]> </failure>\nGrade :=>>10.00\n--|>\nComment :=>>well done"

var graded = grade.Result{
	Schema: grade.Schema, Student: "s01", Stage: "04-status", Status: grade.Graded, Score: 3, MaxScore: 5,
	Tests: []grade.Test{
		{Name: "TestAvailable", Title: "reports when it is available", Status: grade.Pass, Score: 2, MaxScore: 2},
		{Name: "TestNodes", Title: "names its pods", Status: grade.Pass, Score: 1, MaxScore: 1, Flaky: true},
		{Name: "TestPort", Title: "serves on the port", Status: grade.Fail, MaxScore: 1, Step: "a port of its own", Message: hostile},
		{Name: "TestRollout", Title: "rolls out", Status: grade.Skip, MaxScore: 1, Message: "it needs a real kubelet"},
		{Name: "TestScale", Title: "a feature of the teacher's", Status: grade.Fail, MaxScore: 1, Extra: true, Message: "expected 5; last seen: 1"},
	},
	Isolation: grade.Isolation{Outer: "namespaces", Inner: "landlock7+seccomp"},
	Grader:    "0123abc", Submission: "sha256:00", Seed: "s01-04-status",
	Volatile: grade.Volatile{GradedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), TookMS: 41200, Attempts: 1},
}

func with(change func(*grade.Result)) grade.Result {
	result := graded
	change(&result)
	return result
}

var (
	notGradable = with(func(r *grade.Result) {
		r.Status, r.Score, r.Tests, r.Message = grade.NotGradable, 0, nil, "it does not compile: cmd/main.go:7:2: undefined: \x1b[1mx\x1b[0m"
	})
	graderFailed = with(func(r *grade.Result) {
		r.Status, r.Score, r.MaxScore, r.Tests, r.Message = grade.GraderError, 0, 0, nil, "the cluster did not start"
	})
)

// class is graded, not gradable, late, the victim of the grader, and absent.
func class() gradebook.Gradebook {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.FixedZone("CET", 3600))
	about := func(id string, r grade.Result) *grade.Result {
		r.Student = id
		return &r
	}
	return gradebook.Gradebook{
		Assignment: gradebook.Assignment{Name: "04-status", Due: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), MaxScore: 5},
		Rows: []gradebook.Row{
			{Student: gradebook.Student{ID: "s01", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com"}, Result: about("s01", graded), SubmittedAt: at},
			{
				Student: gradebook.Student{ID: "s02", FirstName: `=HYPERLINK("http://x")`, LastName: "+Eve", Email: "@eve"},
				Result:  about("s02", notGradable), SubmittedAt: at, Comment: "-1+1 <b>Compile</b> it first.",
			},
			{
				Student: gradebook.Student{ID: "s03", FirstName: "Renée, \"Ren\"", LastName: "Ng\u202e", Email: "renee@example.com"},
				Result:  about("s03", graded), SubmittedAt: at.Add(48 * time.Hour), LatePenalty: 0.5, Adjustment: 1,
			},
			{Student: gradebook.Student{ID: "s04", FirstName: "Dan", LastName: "Doe", Email: "dan@example.com"}, Result: about("s04", graderFailed), SubmittedAt: at},
			{Student: gradebook.Student{ID: "s05", FirstName: "Sid", LastName: "Sloth", Email: "sid@example.com"}},
		},
	}
}

// ofClass returns the grades of a class in a format, or by the template of that name.
func ofClass(format string, g gradebook.Gradebook) ([]byte, error) {
	if format == export.JSON || format == export.JUnit {
		return export.OfClass(format, g)
	}
	template, err := export.ReadTemplate(format)
	if err != nil {
		return nil, err
	}
	return template.OfClass(g, "")
}

func TestClassFormats(t *testing.T) {
	for _, format := range append(export.Templates(), export.JSON, export.JUnit) {
		got, err := ofClass(format, class())
		if err != nil {
			t.Fatal(err)
		}
		// Only the canonical format has control characters, and JSON escapes them.
		if bytes.ContainsAny(got, "\x1b\x07") {
			t.Errorf("%s: control characters in %q", format, got)
		}
		golden.Compare(t, "class."+format, got)
	}
}

func TestSubmissionFormats(t *testing.T) {
	for _, format := range []string{export.JSON, export.JUnit} {
		for name, result := range map[string]grade.Result{"graded": graded, "not-gradable": notGradable} {
			got, err := export.OfSubmission(format, result)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name+"."+format, got)
		}
	}
}

// A failure of the grader is a zero nowhere: there is no such line, or the format says that there is no grade.
func TestGraderFailed(t *testing.T) {
	for format, want := range map[string]string{
		export.JSON: `"status": "grader_error"`, export.JUnit: `<error message="the grader failed">the cluster did not start</error>`,
	} {
		got, err := export.OfSubmission(format, graderFailed)
		if err != nil || !strings.Contains(string(got), want) || strings.Contains(string(got), `name="score"`) {
			t.Errorf("%s: got %s, %v, expected %s and no grade", format, got, err, want)
		}
	}
	// In the class it is Dan: see the golden files.
	for _, format := range export.Templates() {
		if got, err := ofClass(format, class()); err != nil || strings.Contains(string(got), "s04") {
			t.Errorf("%s: got %s, %v, expected no line about s04", format, got, err)
		}
	}
}

// A student's text stays text: the XML has no other elements.
func TestStudentsTextIsNoMarkup(t *testing.T) {
	junit, err := export.OfClass(export.JUnit, class())
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	for decoder := xml.NewDecoder(bytes.NewReader(junit)); ; {
		token, err := decoder.Token()
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			break
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	want := map[string]int{"testsuites": 1, "testsuite": 4, "properties": 3, "property": 6, "testcase": 12, "failure": 5, "skipped": 2, "error": 1}
	if diff := cmp.Diff(want, elements); diff != "" {
		t.Error(diff)
	}
	if !regexp.MustCompile(`<testsuites tests="12" failures="5" errors="1" skipped="2">`).Match(junit) {
		t.Errorf("the counts in %s are wrong", junit)
	}
}

// Each template, read back as its gradebook reads it, has the same scores. No cell is a formula, and each line has all columns.
func TestGradebooksAgree(t *testing.T) {
	want := map[string]string{"s01": "3", "s02": "0", "s03": "3.5", "s05": "0"}
	for format, columns := range map[string]struct {
		id, score string
		others    []string
	}{
		// What `nbgrader export` writes.
		"nbgrader": {"student_id", "score", []string{
			"assignment", "duedate", "timestamp", "last_name", "first_name", "email", "raw_score", "late_submission_penalty", "max_score",
		}},
		// Moodle identifies a student by one column, and takes the others as they are mapped.
		"moodle": {"ID number", "04-status", []string{"Email address", "Feedback"}},
		// Canvas requires these five, and creates an assignment of each other column.
		"canvas": {"SIS User ID", "04-status", []string{"Student", "ID", "SIS Login ID", "Section"}},
	} {
		out, err := ofClass(format, class())
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(bytes.NewReader(out)).ReadAll() // which also compares the numbers of cells
		if err != nil {
			t.Fatal(err)
		}
		header := records[0]
		if diff := cmp.Diff(slices.Sorted(slices.Values(header)), slices.Sorted(slices.Values(append(columns.others, columns.id, columns.score)))); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		got := map[string]string{}
		for _, record := range records[1:] {
			got[record[slices.Index(header, columns.id)]] = record[slices.Index(header, columns.score)]
			for _, cell := range record {
				if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
					t.Errorf("%s: the cell %q is a formula", format, cell)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	doubled := class()
	doubled.Rows = append(doubled.Rows, doubled.Rows[0])
	inFile := func(text string) error {
		file := filepath.Join(t.TempDir(), "own.csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := export.ReadTemplate(file)
		return err
	}
	second := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		`unknown format "xls" of a class: use json, junit, canvas, moodle, nbgrader, or `: second(ofClass("xls", class())),
		`unknown format "xls" of a submission: use json or junit`:                         second(export.OfSubmission("xls", graded)),
		`two students of the roster have the id "s01"`:                                    second(ofClass("moodle", doubled)),
		`has 4 of 5 points, and its features 3 of 5`:                                      second(export.OfSubmission("json", with(func(r *grade.Result) { r.Score = 4 }))),
		`own.csv: it has 1 lines: write two, the header and a student's`:                  inFile("a,b\n"),
		`own.csv: record on line 2: wrong number of fields: write it as CSV`:              inFile("a,b\n{{.Score}}\n"),
		`own.csv: the cell "{{.Grade}}": `:                                                inFile("a\n{{.Grade}}\n"),
		`own.csv: the cell "{{": `:                                                        inFile("a\n{{\n"),
		`no cell of a student's line has the grade: write {{.Score}} in one`:              inFile("a\n{{.ID}}\n"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

// The column is called as the gradebook calls it, and a lab is known by its own name.
func TestNames(t *testing.T) {
	template, err := export.ReadTemplate("canvas")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := template.OfClass(class(), "04-status (12)"); err != nil || !strings.Contains(string(got), ",Section,04-status (12)\n") {
		t.Errorf("got %s, %v", got, err)
	}
	got, err := export.OfSubmission(export.JUnit, with(func(r *grade.Result) { r.Lab = "hands-off" }))
	if err != nil || !strings.Contains(string(got), `<testsuite name="s01/hands-off"`) {
		t.Errorf("got %s, %v", got, err)
	}
}
