package export

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// submissionJSON is the canonical format.
func submissionJSON(r grade.Result, _ Options) ([]byte, error) {
	if r.Tests == nil {
		r.Tests = []grade.Test{}
	}
	return encode(r, "  ")
}

type gradescopeTest struct {
	Name         string   `json:"name"`
	Score        *float64 `json:"score,omitempty"`
	MaxScore     *float64 `json:"max_score,omitempty"`
	Status       string   `json:"status,omitempty"`
	Output       string   `json:"output"`
	OutputFormat string   `json:"output_format"`
	Visibility   string   `json:"visibility"`
}

// gradescope writes /autograder/results/results.json. Every format of text is set, because the default is HTML. Students see the
// teacher's own features after the grades are published.
func gradescope(r grade.Result, _ Options) ([]byte, error) {
	if err := failed(r); err != nil {
		return nil, err
	}
	tests := []gradescopeTest{}
	for _, f := range features(r) {
		test := gradescopeTest{Name: f.title(), Output: f.text, OutputFormat: "text", Visibility: "visible"}
		if f.Extra {
			test.Visibility = "after_published"
		}
		if f.Status != grade.Skip { // Without points, it is shown and does not count.
			test.Score, test.MaxScore = &f.Score, &f.MaxScore
			test.Status = passedOr(f, "passed", "failed")
		}
		tests = append(tests, test)
	}
	return encode(struct {
		Score            float64          `json:"score"`
		Output           string           `json:"output"`
		OutputFormat     string           `json:"output_format"`
		StdoutVisibility string           `json:"stdout_visibility"`
		Tests            []gradescopeTest `json:"tests"`
	}{r.Score, summary(r), "text", "hidden", tests}, "  ")
}

type prairieLearnTest struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Points      float64 `json:"points"`
	MaxPoints   float64 `json:"max_points"`
	Message     string  `json:"message"`
}

// prairieLearn writes /grade/results/results.json. There, what can't be graded costs no attempt, and neither does a failure of the
// grader. Features without points would hide the points of all others, so skipped ones are in the message.
func prairieLearn(r grade.Result, _ Options) ([]byte, error) {
	if r.Status != grade.Graded {
		message := summary(r)
		if err := failed(r); err != nil {
			message = err.Error()
		}
		return encode(struct {
			Gradable     bool     `json:"gradable"`
			FormatErrors []string `json:"format_errors"`
		}{false, []string{message}}, "  ")
	}
	score, err := share(r)
	if err != nil {
		return nil, err
	}
	tests := []prairieLearnTest{}
	for _, f := range counted(r) {
		tests = append(tests, prairieLearnTest{f.Name, f.Title, f.Score, f.MaxScore, f.text})
	}
	return encode(struct {
		Gradable bool               `json:"gradable"`
		Score    float64            `json:"score"`
		Message  string             `json:"message"`
		Tests    []prairieLearnTest `json:"tests"`
	}{true, score, summary(r), tests}, "  ")
}

// Submission is what Classroom 50 says about a submission: its runner sets these as environment variables.
type Submission struct {
	// Classroom and Assignment are CLASSROOM and ASSIGNMENT.
	Classroom, Assignment string
	// Tag is SUBMISSION_TAG, such as "submit/2026-11-21T10-00-00Z", and the others are the addresses COMMIT_URL, RELEASE_URL and
	// REVIEW_URL, by default the commit's.
	Tag, Commit, Release, Review string
	// Type is "individual" or "group", and Owner the student or the group. The runner sets both if they are empty.
	Type, Owner string
}

type classroom50Test struct {
	Name     string `json:"test-name"`
	Passed   bool   `json:"passed"`
	Score    int    `json:"score"`
	MaxScore int    `json:"max-score"`
}

// classroom50 writes result.json. It takes whole points only, and no other keys.
func classroom50(r grade.Result, o Options) ([]byte, error) {
	if err := failed(r); err != nil {
		return nil, err
	}
	s := o.Classroom50
	if s.Review == "" {
		s.Review = s.Commit
	}
	for _, required := range []struct{ variable, value string }{
		{"CLASSROOM", s.Classroom}, {"ASSIGNMENT", s.Assignment}, {"SUBMISSION_TAG", s.Tag}, {"COMMIT_URL", s.Commit}, {"RELEASE_URL", s.Release},
	} {
		if required.value == "" {
			return nil, fmt.Errorf("the format classroom50 needs %s: run this in Classroom 50's runner, which sets it", required.variable)
		}
	}
	var score, most int
	tests := []classroom50Test{}
	for _, f := range counted(r) {
		if f.Score != math.Trunc(f.Score) || f.MaxScore != math.Trunc(f.MaxScore) {
			return nil, fmt.Errorf("the feature %s has %s of %s points, but Classroom 50 takes whole ones: give whole points in class.yaml",
				f.Name, gradebook.Number(f.Score), gradebook.Number(f.MaxScore))
		}
		test := classroom50Test{f.Name, f.Status == grade.Pass, int(f.Score), int(f.MaxScore)}
		score, most = score+test.Score, most+test.MaxScore
		tests = append(tests, test)
	}
	return encode(struct {
		Schema     string            `json:"schema"`
		Classroom  string            `json:"classroom"`
		Assignment string            `json:"assignment"`
		Type       string            `json:"assignment_type,omitempty"`
		Owner      string            `json:"owner,omitempty"`
		Submission string            `json:"submission"`
		Commit     string            `json:"commit"`
		Release    string            `json:"release"`
		Review     string            `json:"review"`
		Datetime   string            `json:"datetime"`
		Score      int               `json:"score"`
		MaxScore   int               `json:"max-score"`
		Tests      []classroom50Test `json:"tests"`
	}{
		"classroom50/result/v1", s.Classroom, s.Assignment, s.Type, s.Owner, s.Tag, s.Commit, s.Release, s.Review,
		r.Volatile.GradedAt.UTC().Format(time.RFC3339), score, most, tests,
	}, "  ")
}

// autolab writes the last two lines of an autograder's output: formatted feedback, and the scores.
func autolab(r grade.Result, _ Options) ([]byte, error) {
	if err := failed(r); err != nil {
		return nil, err
	}
	type outcome struct {
		Passed bool   `json:"passed"`
		Hint   string `json:"hint,omitempty"`
	}
	tests := map[string]outcome{}
	for _, f := range counted(r) {
		tests[f.Name] = outcome{f.Status == grade.Pass, f.text}
	}
	feedback, err := encode(map[string]any{"_presentation": "semantic", "stages": []string{"Test"}, "Test": tests}, "")
	if err != nil {
		return nil, err
	}
	scores, err := encode(map[string]any{"scores": map[string]float64{name(r): r.Score}}, "")
	return append(feedback, scores...), err
}

// vplTags are what VPL looks for in the output of an evaluation. A student's text must not have them.
var vplTags = strings.NewReplacer(":=>>", ": = >>", "<|--", "< | --", "--|>", "-- | >")

// vpl writes what vpl_evaluate.sh prints. Without a grade, VPL proposes none, as it should if the grader failed.
func vpl(r grade.Result, o Options) ([]byte, error) {
	var out bytes.Buffer
	// A line that starts with - is a title, and one that starts with > is shown as it is.
	section := func(title, text string) {
		fmt.Fprintf(&out, "-%s\n", vplTags.Replace(plain.Line(title)))
		for line := range strings.Lines(vplTags.Replace(text)) {
			fmt.Fprintf(&out, ">%s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	out.WriteString("<|--\n")
	if err := failed(r); err != nil {
		section("No grade", err.Error())
		out.WriteString("--|>\n")
		return out.Bytes(), nil
	}
	section(fmt.Sprintf("%s of %s points", gradebook.Number(r.Score), gradebook.Number(r.MaxScore)), summary(r))
	for _, f := range features(r) {
		switch {
		case r.Status != grade.Graded: // The summary says why.
		case f.Status == grade.Fail:
			section("fails: "+f.title(), f.text)
		case f.Status == grade.Skip:
			section("skipped: "+f.title(), f.text)
		}
	}
	points, err := share(r)
	if err != nil {
		return nil, err
	}
	most := o.VPLMax
	if most == 0 {
		most = 10
	}
	fmt.Fprintf(&out, "--|>\nGrade :=>>%.2f\n", points*most)
	return out.Bytes(), nil
}

// codeRunner writes what a combinator template grader prints.
func codeRunner(r grade.Result, _ Options) ([]byte, error) {
	if err := failed(r); err != nil {
		return nil, err
	}
	fraction, err := share(r)
	if err != nil {
		return nil, err
	}
	rows := [][]any{{"iscorrect", "Test", "Got"}}
	for _, f := range counted(r) {
		correct := 0
		if f.Status == grade.Pass {
			correct = 1
		}
		rows = append(rows, []any{correct, f.title(), f.text})
	}
	return encode(map[string]any{"fraction": fraction, "testresults": rows}, "")
}

type githubTest struct {
	Name     string  `json:"name"`
	Status   string  `json:"status"`
	Score    float64 `json:"score"`
	Message  string  `json:"message"`
	TestCode string  `json:"test_code"`
	Filename string  `json:"filename"`
	LineNo   int     `json:"line_no"`
	Duration int     `json:"duration"`
}

// github writes what the reporter of GitHub Classroom read from a step's output, for those who still use it.
func github(r grade.Result, _ Options) ([]byte, error) {
	if err := failed(r); err != nil {
		return nil, err
	}
	status, tests := "pass", []githubTest{}
	for _, f := range counted(r) {
		if f.Status != grade.Pass {
			status = "fail"
		}
		tests = append(tests, githubTest{Name: f.title(), Status: passedOr(f, "pass", "fail"), Score: f.Score, Message: f.text})
	}
	out, err := encode(struct {
		Version  int          `json:"version"`
		Status   string       `json:"status"`
		MaxScore float64      `json:"max_score"`
		Tests    []githubTest `json:"tests"`
	}{1, status, r.MaxScore, tests}, "")
	return []byte(base64.StdEncoding.EncodeToString(bytes.TrimSpace(out)) + "\n"), err
}

// failed returns an error if the grader failed.
func failed(r grade.Result) error {
	if r.Status == grade.GraderError {
		return &GraderFailedError{r.Message}
	}
	return nil
}

// share is the score as a part of 1. What can't be graded has 0.
func share(r grade.Result) (float64, error) {
	switch {
	case r.Status == grade.NotGradable:
		return 0, nil
	case r.MaxScore == 0:
		return 0, fmt.Errorf("no feature of %s could be tried here, so there is no grade: grade on a cluster that can run them", name(r))
	}
	return min(r.Score/r.MaxScore, 1), nil
}

func passedOr(f feature, passed, failed string) string {
	if f.Status == grade.Pass {
		return passed
	}
	return failed
}
