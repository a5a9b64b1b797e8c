package export_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"regexp"
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
	Schema: grade.Schema, Student: "s01", Stage: "05-status", Status: grade.Graded, Score: 3, MaxScore: 5,
	Tests: []grade.Test{
		{Name: "TestAvailable", Title: "reports when it is available", Status: grade.Pass, Score: 2, MaxScore: 2},
		{Name: "TestNodes", Title: "names its pods", Status: grade.Pass, Score: 1, MaxScore: 1, Flaky: true},
		{Name: "TestPort", Title: "serves on the port", Status: grade.Fail, MaxScore: 1, Step: "a port of its own", Message: hostile},
		{Name: "TestRollout", Title: "rolls out", Status: grade.Skip, MaxScore: 1, Message: "it needs a real kubelet"},
		{Name: "TestScale", Title: "a feature of the teacher's", Status: grade.Fail, MaxScore: 1, Extra: true, Message: "expected 5; last seen: 1"},
	},
	Isolation: grade.Isolation{Outer: "namespaces", Inner: "landlock7+seccomp"},
	Grader:    "0123abc", Submission: "sha256:00", Seed: "s01-05-status",
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

// options are of a submission, and of a class with a Canvas export.
var options = export.Options{
	Classroom50: export.Submission{
		Classroom: "ops", Assignment: "05-status", Tag: "submit/2026-11-21T10-00-00Z", Commit: "https://github.com/ops/05-status-ada/commit/1",
		Release: "https://github.com/ops/05-status-ada/releases/1", Type: "individual", Owner: "ada",
	},
	Canvas: []byte("\ufeff" + `Student,ID,SIS User ID,SIS Login ID,Section,04-controller (11),05-status (12),Current Score
"    Points Possible",,,,,5,5,(read only)
"Lovelace, Ada",101,s01,ada@example.com,ops,-1,,80
"=HYPERLINK(""http://x"")",102,s02,eve@example.com,ops,,1,80
"Ng, Renée",103,,RENEE@example.com,ops,,,80
"Doe, Dan",104,s04,dan@example.com,ops,,3,80
"Sloth, Sid",105,s05,sid@example.com,ops,,,80
"Other, Section",106,s99,other@example.com,ops,,,80
"Student, Test",107,,0123456789,ops,,,
`),
}

// class is graded, not gradable, late, the victim of the grader, and absent.
func class() gradebook.Gradebook {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.FixedZone("CET", 3600))
	about := func(id string, r grade.Result) *grade.Result {
		r.Student = id
		return &r
	}
	return gradebook.Gradebook{
		Assignment: gradebook.Assignment{Name: "05-status", Due: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), MaxScore: 5},
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

func TestClassFormats(t *testing.T) {
	for _, format := range export.ClassFormats {
		got, err := export.OfClass(format, class(), options)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "class."+format, got)
	}
}

func TestSubmissionFormats(t *testing.T) {
	for _, format := range export.SubmissionFormats {
		for name, result := range map[string]grade.Result{"graded": graded, "not-gradable": notGradable} {
			got, err := export.OfSubmission(format, result, options)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name+"."+format, got)
		}
	}
}

// A failure of the grader is a zero nowhere: it is an error, or the format says that there is no grade.
func TestGraderFailed(t *testing.T) {
	marked := map[string]string{
		"json": `"status": "grader_error"`, "junit": `<error message="the grader failed">the cluster did not start</error>`,
		"prairielearn": `"gradable": false`, "vpl": "-No grade\n",
	}
	for _, format := range export.SubmissionFormats {
		got, err := export.OfSubmission(format, graderFailed, options)
		if want, ok := marked[format]; ok {
			if err != nil || !strings.Contains(string(got), want) || strings.Contains(string(got), "Grade :=>>") || strings.Contains(string(got), `name="score"`) {
				t.Errorf("%s: got %s, %v, expected %s and no grade", format, got, err, want)
			}
			continue
		}
		if failure, ok := errors.AsType[*export.GraderFailedError](err); !ok || got != nil || !strings.Contains(failure.Error(), "the cluster did not start") {
			t.Errorf("%s: got %s, %v, expected an error and nothing to read", format, got, err)
		}
	}
	// In the class it is Dan: see the golden files. Canvas keeps the 3 points that he had.
	for format, want := range map[string]string{"moodle": "", "nbgrader": "", "canvas": `"Doe, Dan",104,s04,dan@example.com,ops,,3,80`, "json": `"score": null`} {
		got, err := export.OfClass(format, class(), options)
		if err != nil || want == "" && strings.Contains(string(got), "s04") || !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, %v, expected %q about s04", format, got, err, want)
		}
	}
}

// What graders check: types, required keys, and that points add up.
func TestRulesOfSubmissionFormats(t *testing.T) {
	one := func(format string, r grade.Result) []byte {
		t.Helper()
		got, err := export.OfSubmission(format, r, options)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	type points map[string]any
	decode := func(data []byte) points {
		t.Helper()
		var value points
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		return value
	}
	sum := func(value points, key string) (total float64) {
		for _, test := range value["tests"].([]any) {
			if score, ok := test.(map[string]any)[key].(float64); ok {
				total += score
			}
		}
		return total
	}
	for name, result := range map[string]grade.Result{"graded": graded, "not gradable": notGradable} {
		scope := decode(one("gradescope", result))
		if sum(scope, "score") != scope["score"] || scope["score"] != result.Score || sum(scope, "max_score") != result.MaxScore {
			t.Errorf("gradescope, %s: %v does not add up to %v", name, scope, result.Score)
		}
		fifty := decode(one("classroom50", result))
		if sum(fifty, "score") != fifty["score"] || fifty["score"] != result.Score || sum(fifty, "max-score") != fifty["max-score"] || fifty["max-score"] != result.MaxScore {
			t.Errorf("classroom50, %s: %v does not add up to %v", name, fifty, result.Score)
		}
		if keys := len(fifty); keys != 13 || bytes.Contains(one("classroom50", result), []byte(".")) && fifty["score"] != float64(int(fifty["score"].(float64))) {
			t.Errorf("classroom50, %s: %d keys in %v, expected 13", name, keys, fifty)
		}
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(one("github", result))))
		if err != nil {
			t.Fatal(err)
		}
		if hub := decode(raw); sum(hub, "score") != result.Score || hub["max_score"] != result.MaxScore || hub["status"] != "fail" || hub["version"] != 1.0 {
			t.Errorf("github, %s: %v does not add up to %v", name, hub, result.Score)
		}
		if fraction := decode(one("coderunner", result))["fraction"]; fraction != result.Score/result.MaxScore {
			t.Errorf("coderunner, %s: got the fraction %v", name, fraction)
		}
		lines := strings.Split(strings.TrimSpace(string(one("autolab", result))), "\n")
		if scores := decode([]byte(lines[len(lines)-1])); len(lines) != 2 || scores["scores"].(map[string]any)["05-status"] != result.Score {
			t.Errorf("autolab, %s: got %q, expected two lines and the scores in the last", name, lines)
		}
	}
	learn := decode(one("prairielearn", graded))
	if learn["score"] != 0.6 || learn["gradable"] != true || sum(learn, "points") != 3 || sum(learn, "max_points") != 5 || len(learn["tests"].([]any)) != 4 {
		t.Errorf("prairielearn: got %v, expected 0.6, and points of each of 4 tests", learn)
	}
	if got := decode(one("prairielearn", notGradable)); got["gradable"] != false || len(got["format_errors"].([]any)) != 1 || len(got) != 2 {
		t.Errorf("prairielearn: got %v, expected what is wrong with the format", got)
	}
	if full := with(func(r *grade.Result) { r.Tests, r.Score, r.MaxScore = r.Tests[:1], 2, 2 }); decode(one("prairielearn", full))["score"] != 1.0 {
		t.Error("a full score is not 1")
	}
	if got := string(one("vpl", with(func(r *grade.Result) { r.Tests, r.Score, r.MaxScore = r.Tests[:1], 2, 2 }))); !strings.HasSuffix(got, "\n--|>\nGrade :=>>10.00\n") {
		t.Errorf("vpl: got %q", got)
	}
	if got, err := export.OfSubmission("vpl", graded, export.Options{VPLMax: 100}); err != nil || !strings.HasSuffix(string(got), "\nGrade :=>>60.00\n") {
		t.Errorf("vpl: got %q, %v, expected 60 of 100", got, err)
	}
}

// A student's text stays text: in VPL's output there is one grade and one block of comments, and the XML has no other elements.
func TestStudentsTextIsNoMarkup(t *testing.T) {
	vpl, err := export.OfSubmission("vpl", graded, options)
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]int{"Grade :=>>": 1, "Comment :=>>": 0, "<|--": 1, "--|>": 1} {
		if got := strings.Count(string(vpl), tag); got != want {
			t.Errorf("%d times %s in %s, expected %d", got, tag, vpl, want)
		}
	}
	junit, err := export.OfClass("junit", class(), options)
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
	// Beyond the canonical format, which is JSON and escapes them, no control character is left.
	for _, format := range export.ClassFormats {
		got, err := export.OfClass(format, class(), options)
		if err != nil || bytes.ContainsAny(got, "\x1b\x07") {
			t.Errorf("%s: %v, or control characters in %q", format, err, got)
		}
	}
}

// Gradebooks show the same scores, no cell is a formula, and each line has all columns.
func TestGradebooksAgree(t *testing.T) {
	want := map[string]string{"s01": "3", "s02": "0", "s03": "3.5", "s05": "0"}
	for format, columns := range map[string]struct{ id, score, all int }{"nbgrader": {3, 9, 11}, "moodle": {0, 2, 4}} {
		out, err := export.OfClass(format, class(), options)
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, record := range records[1:] {
			got[record[columns.id]] = record[columns.score]
			if len(record) != columns.all {
				t.Errorf("%s: %d columns in %q, expected %d", format, len(record), record, columns.all)
			}
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
	class, other := class(), class()
	other.Rows = append(other.Rows, gradebook.Row{Student: gradebook.Student{ID: "s77", FirstName: "Una", LastName: "Known"}})
	canvas := func(text string) export.Options { return export.Options{Canvas: []byte(text)} }
	ofClass := func(format string, g gradebook.Gradebook, o export.Options) error {
		_, err := export.OfClass(format, g, o)
		return err
	}
	ofOne := func(format string, r grade.Result, o export.Options) error {
		_, err := export.OfSubmission(format, r, o)
		return err
	}
	doubled := class
	doubled.Rows = append(doubled.Rows, class.Rows[0])
	noCommit := options
	noCommit.Classroom50.Commit = ""
	nothing := with(func(r *grade.Result) { r.Tests, r.Score, r.MaxScore = r.Tests[3:4], 0, 0 })
	for want, err := range map[string]error{
		`unknown format "xls" of a class: use one of canvas, json, junit, moodle, nbgrader`:                             ofClass("xls", class, options),
		`unknown format "xls" of a submission: use one of autolab, classroom50, `:                                       ofOne("xls", graded, options),
		`two students of the roster have the id "s01"`:                                                                  ofClass("moodle", doubled, options),
		`has 4 of 5 points, and its features 3 of 5`:                                                                    ofOne("vpl", with(func(r *grade.Result) { r.Score = 4 }), options),
		`the Canvas export has no student "s77" (Una Known): `:                                                          ofClass("canvas", other, options),
		`the Canvas export has no column "06-watches": `:                                                                ofClass("canvas", class, export.Options{Canvas: options.Canvas, CanvasColumn: "06-watches"}),
		`the Canvas export has 0 lines`:                                                                                 ofClass("canvas", class, export.Options{}),
		`read the Canvas export: `:                                                                                      ofClass("canvas", class, canvas("a\"b,c\nd\n")),
		`the Canvas export has 2 columns "05-status": name one with its number, such as "05-status (1)"`:                ofClass("canvas", class, canvas("ID,05-status (1),05-status (2)\ns01,,\n")),
		`the Canvas export has the student "s01" (Ada Lovelace) on the lines 2 and 3`:                                   ofClass("canvas", class, canvas("ID,05-status\n"+strings.Repeat("s01,\n", 2))),
		`the feature TestNodes has 0.5 of 1 points, but Classroom 50 takes whole ones: give whole points in class.yaml`: ofOne("classroom50", with(func(r *grade.Result) { r.Tests, r.Score, r.MaxScore = half(r.Tests[1]), 0.5, 1 }), options),
		`the format classroom50 needs COMMIT_URL`:                                                                       ofOne("classroom50", graded, noCommit),
		`no feature of 05-status could be tried here`:                                                                   ofOne("coderunner", nothing, options),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

func half(test grade.Test) []grade.Test {
	test.Score = 0.5
	return []grade.Test{test}
}

func TestCanvasColumnByName(t *testing.T) {
	o := options
	o.CanvasColumn = "04-controller (11)"
	got, err := export.OfClass("canvas", class(), o)
	if err != nil || !strings.Contains(string(got), `"Lovelace, Ada",101,s01,ada@example.com,ops,3,,80`) {
		t.Errorf("got %s, %v", got, err)
	}
}

// A lab is known by its own name.
func TestLab(t *testing.T) {
	got, err := export.OfSubmission("autolab", with(func(r *grade.Result) { r.Lab = "hands-off" }), options)
	if err != nil || !strings.HasSuffix(string(got), "{\"scores\":{\"hands-off\":3}}\n") {
		t.Errorf("got %s, %v", got, err)
	}
}
