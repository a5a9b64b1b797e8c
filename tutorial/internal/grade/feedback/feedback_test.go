package feedback_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/feedback"
	"github.com/example/operator-testbed/tutorial/internal/grade/golden"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

// hostile is a message as a student's operator may cause one.
const hostile = "expected 3; last seen: <img src=x onerror=alert(1)>\n```\n# 5 of 5 points\n\x1b[31m"

func result(id string, tests ...grade.Test) *grade.Result {
	r := &grade.Result{
		Schema: grade.Schema, Student: id, Stage: "04-status", Status: grade.Graded, Tests: tests,
		Isolation: grade.Isolation{Outer: "namespaces", Inner: "landlock7+seccomp"}, Seed: id + "-04-status",
	}
	for _, test := range tests {
		if test.Status != grade.Skip {
			r.Score, r.MaxScore = r.Score+test.Score, r.MaxScore+test.MaxScore
		}
	}
	return r
}

func failure(status grade.Status, message string) *grade.Result {
	r := result("s00")
	r.Status, r.Message = status, message
	return r
}

var (
	available = grade.Test{Name: "TestAvailable", Title: "reports when it is available", Status: grade.Pass, Score: 2, MaxScore: 2}
	flaky     = grade.Test{Name: "TestNodes", Title: "names its <b>pods</b>", Status: grade.Pass, Score: 1, MaxScore: 1, Flaky: true}
	port      = grade.Test{Name: "TestPort", Title: "serves on the port", Status: grade.Fail, MaxScore: 1, Step: "a *port* of its own", Message: hostile}
	rollout   = grade.Test{Name: "TestRollout", Title: "rolls out", Status: grade.Skip, MaxScore: 1, Message: "it needs a real kubelet"}
	// The teacher's own feature has a name that sorts before those of the chapter.
	extra = grade.Test{Name: "TestAbsent", Title: "survives", Status: grade.Fail, MaxScore: 1, Extra: true, Message: "the operator stopped"}
)

func class() gradebook.Gradebook {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	student := func(id, first, last string) gradebook.Student {
		return gradebook.Student{ID: id, FirstName: first, LastName: last}
	}
	return gradebook.Gradebook{
		Assignment: gradebook.Assignment{Name: "04-status", Due: at.Add(time.Hour), MaxScore: 5},
		Rows: []gradebook.Row{
			{Student: student("s01", "Ada", "Lovelace"), Result: result("s01", available, flaky, port, rollout, extra), SubmittedAt: at},
			{
				Student: student("s02", "<script>alert(1)</script>", "*Eve*"), Result: result("s02", available, port), SubmittedAt: at.Add(48 * time.Hour),
				LatePenalty: 0.5, Adjustment: 1, Comment: "Good start.\nLook at the port.",
			},
			{Student: student("s03", "Bo", "Yes"), Result: failure(grade.NotGradable, "it does not compile: undefined: x"), SubmittedAt: at},
			{Student: student("s04", "", ""), Result: failure(grade.GraderError, "the cluster did not start"), SubmittedAt: at},
			{Student: student("s05", "Sid", "Sloth")},
		},
	}
}

func TestPages(t *testing.T) {
	g := class()
	for _, row := range g.Rows {
		page := feedback.Page(g.Assignment, row)
		golden.Compare(t, row.Student.ID+".golden", page)

		// Even a renderer that lets HTML through shows what others wrote as text.
		var rendered bytes.Buffer
		if err := goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe())).Convert(page, &rendered); err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`<(img|script|b|a|em)\b`).FindString(rendered.String()); found != "" {
			t.Errorf("%s: the page has the element %s: %s", row.Student.ID, found, rendered.String())
		}
		if got := strings.Count(rendered.String(), "<h1>"); got != 1 {
			t.Errorf("%s: the page has %d titles, expected 1", row.Student.ID, got)
		}
	}
}

// Where the grader failed, and only there, a page has no points.
func TestNoPointsWhereTheGraderFailed(t *testing.T) {
	g := class()
	for _, row := range g.Rows {
		if got, want := bytes.Contains(feedback.Page(g.Assignment, row), []byte("points.**")), row.Student.ID != "s04"; got != want {
			t.Errorf("%s: the page has points: %t, expected %t", row.Student.ID, got, want)
		}
	}
}

func TestOverview(t *testing.T) {
	page, err := feedback.Overview(class())
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "overview.html", bytes.Replace(page, []byte(web.Style), []byte("/* style.css */\n"), 1))
	// What is in an attribute's quotes is text.
	markup := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(string(page), `""`)
	if found := regexp.MustCompile(`(?i)<(img|script|link|iframe)\b|<[a-z][^>]*\s(src|href|on[a-z]+)=|url\(|@import|https?:`).FindString(markup); found != "" {
		t.Errorf("the overview loads or runs something: %s", found)
	}
	if !bytes.Contains(page, []byte("last seen: &lt;img src=x onerror=alert(1)&gt;")) {
		t.Error("a message does not show as text")
	}
	// Each student has a line with a cell for each of 5 features, and the features say how many have them.
	if lines, marks := bytes.Count(page, []byte(`<th scope="row">`)), bytes.Count(page, []byte(`<td class="mark `)); lines != 6 || marks != 25 {
		t.Errorf("the matrix has %d lines and %d marks, expected 6 and 25", lines, marks)
	}
	if want := `<td class="mark">2/2</td><td class="mark">1/1</td><td class="mark">0/2</td><td class="mark">0/0</td><td class="mark">0/1</td>`; !bytes.Contains(page, []byte(want)) {
		t.Errorf("expected %s", want)
	}
}

// A bar for each point, or for each tenth of many; the highest score has one of its own, and a score above it, by the teacher's
// hand, too.
func TestHistogram(t *testing.T) {
	count := func(most, score, adjustment float64) (bars int, label string) {
		t.Helper()
		test := grade.Test{Name: "TestA", Status: grade.Pass, Score: score, MaxScore: most}
		page, err := feedback.Overview(gradebook.Gradebook{
			Assignment: gradebook.Assignment{Name: "a", MaxScore: most},
			Rows:       []gradebook.Row{{Student: gradebook.Student{ID: "s01"}, Result: result("s01", test), Adjustment: adjustment}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(page, []byte("<rect")), string(regexp.MustCompile(`points: (1 with [^,]*), and`).FindSubmatch(page)[1])
	}
	for _, test := range []struct {
		most, score, adjustment float64
		bars                    int
		label                   string
	}{
		{5, 5, 0, 6, "1 with 5"},
		{5, 2.5, 0, 6, "1 with 2"},
		{5, 5, 2, 8, "1 with 7"},
		{20, 0, 0, 21, "1 with 0"},
		{100, 100, 0, 11, "1 with 100"},
		{100, 99, 0, 11, "1 with 90"},
		{0, 0, 0, 1, "1 with 0"},
	} {
		if bars, label := count(test.most, test.score, test.adjustment); bars != test.bars || label != test.label {
			t.Errorf("%+v: got %d bars and %s", test, bars, label)
		}
	}
}

func TestOverviewOfNobody(t *testing.T) {
	if page, err := feedback.Overview(gradebook.Gradebook{}); err != nil || !bytes.Contains(page, []byte("0 of 0 handed in.")) {
		t.Errorf("got %s, %v", page, err)
	}
}
