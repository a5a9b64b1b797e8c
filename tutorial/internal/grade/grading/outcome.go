package grading

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/report"
	"github.com/example/operator-testbed/tutorial/internal/grade"
)

// Messages of features about which the report says nothing.
const (
	notStarted  = "the operator did not start"
	notReported = "the suite ended before it was done with this feature"
)

// Calibration is what a chapter's own solution reaches where the grader runs.
type Calibration struct {
	// Tests are the features of the suites, with the solution's outcomes. Their MaxScore is 1, or 0 where the feature was skipped.
	Tests []grade.Test `json:"tests"`
	// TookMS is how long a run of the suites took, in milliseconds.
	TookMS int64 `json:"took_ms"`
}

// outcomes are what became of the features of one suite.
type outcomes struct {
	plan []grade.Test // as calibrated, or nil when it is the solution that runs
	// points is the highest score of a feature.
	points func(test string) float64
	// claims say in a sentence what a feature is about, by its name, instead of the suite's own few words.
	claims map[string]string
	// plain removes from a message what differs between runs.
	plain func(string) string
	extra bool
}

// tests returns what became of the features, of which again has reported those that were run again. With a plan, exactly its features
// are in it, because a submission could have kept others from being reported.
func (o outcomes) tests(first, again *report.Report) []grade.Test {
	var tests []grade.Test
	if o.plan == nil {
		for _, l := range first.Results {
			tests = append(tests, o.test(grade.Test{Name: l.Test, Title: cmp.Or(o.claims[l.Test], l.Feature), MaxScore: o.points(l.Test), Extra: o.extra}, first))
		}
		slices.SortFunc(tests, func(a, b grade.Test) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, planned := range o.plan {
		if planned.Extra != o.extra {
			continue
		}
		t := grade.Test{Name: planned.Name, Title: planned.Title, MaxScore: o.points(planned.Name), Extra: o.extra}
		if planned.Status == grade.Skip {
			t.Status, t.MaxScore, t.Message = grade.Skip, 0, planned.Message
		} else {
			t = o.test(t, first)
		}
		tests = append(tests, t)
	}
	if again != nil {
		for i := range tests {
			t := &tests[i]
			if l, _ := again.Of(t.Name); t.Status == grade.Fail && wrong(first, t.Name) == "" && wrong(again, t.Name) == "" && l.Outcome == report.Holds {
				t.Status, t.Score, t.Flaky, t.Message, t.Step = grade.Pass, t.MaxScore, true, "", ""
			}
		}
	}
	return tests
}

// test returns t with what became of it in a run.
func (o outcomes) test(t grade.Test, r *report.Report) grade.Test {
	l, reported := r.Of(t.Name)
	switch why := wrong(r, t.Name); {
	case why != "":
		t.Status, t.Message = grade.Fail, why
	case !reported && r.Start != nil:
		t.Status, t.Message = grade.Fail, notStarted
		if text := o.plain(cmp.Or(r.Start.Message, r.Start.Reason)); text != "" {
			t.Message += ": " + text
		}
	case !reported:
		t.Status, t.Message = grade.Fail, notReported
	case l.Outcome == report.Holds:
		t.Status, t.Score = grade.Pass, t.MaxScore
	case l.Outcome == report.NotTried && !l.Failed && o.plan == nil:
		// Only the solution decides what can't be tried here: a submission can't choose to skip.
		t.Status, t.MaxScore, t.Message = grade.Skip, 0, o.plain(l.Reason)
	default:
		t.Status, t.Step, t.Message = grade.Fail, l.Step, o.plain(sentenceOf(l))
	}
	return t
}

// sentenceOf says why a feature does not hold: of what, where the message says so, what was expected, and what was seen.
func sentenceOf(l report.Result) string {
	if l.Expected == "" || l.Seen == "" {
		return cmp.Or(l.Message, l.Reason, "the step failed without a message")
	}
	subject, _, found := strings.Cut(l.Message, "expected "+l.Expected)
	if !found {
		subject, _, found = strings.Cut(l.Message, "Expected\n") // as gomega begins
	}
	subject = strings.TrimSuffix(strings.TrimSpace(field.ReplaceAllString(subject, "")), ":")
	expected := l.Expected
	if found && subject != "" {
		expected = subject + ": " + expected
	}
	return typed.ReplaceAllString("expected "+expected+"; last seen: "+l.Seen, " <")
}

// field is how gomega names the field that a message is about. What was expected already begins with its name.
var field = regexp.MustCompile(`Value for field '[^']+' failed to satisfy matcher\.\s*$`)

// typed is how gomega begins a value, on a line of its own.
var typed = regexp.MustCompile(`\n\s+<`)

// refused returns what becomes of the features of a submission that there is nothing to run of: the score is out of the same points.
func refused(plan []grade.Test, points func(string) float64) []grade.Test {
	tests := []grade.Test{}
	for _, t := range plan {
		t.Score = 0
		if t.Status != grade.Skip {
			t.Status, t.MaxScore = grade.Fail, points(t.Name)
		}
		tests = append(tests, t)
	}
	return tests
}

// failed returns the names of the tests that fail.
func failed(tests []grade.Test) []string {
	var names []string
	for _, t := range tests {
		if t.Status == grade.Fail {
			names = append(names, t.Name)
		}
	}
	return names
}

// score adds up the points.
func score(tests []grade.Test) (score, most float64) {
	for _, t := range tests {
		score += t.Score
		most += t.MaxScore
	}
	return score, most
}
