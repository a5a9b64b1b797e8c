package export

import (
	"github.com/example/operator-testbed/e2e/junit"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// asJUnit makes a test suite of each result.
func asJUnit(results []grade.Result) ([]byte, error) {
	var suites []junit.Suite
	for _, r := range results {
		suites = append(suites, suiteOf(r))
	}
	return junit.Encode(suites)
}

func suiteOf(r grade.Result) junit.Suite {
	suite := junit.Suite{Name: name(r)}
	if r.Student != "" {
		suite.Name = plain.Line(r.Student) + "/" + name(r)
	}
	if r.Status == grade.GraderError {
		suite.Add(junit.Case{Class: suite.Name, Name: "Grader", Error: &junit.Message{Message: "the grader failed", Text: plain.Text(r.Message)}})
		return suite
	}
	suite.Set("score", gradebook.Number(r.Score))
	suite.Set("max_score", gradebook.Number(r.MaxScore))
	for _, f := range features(r) {
		c := junit.Case{Class: suite.Name, Name: f.Name}
		switch f.Status {
		case grade.Fail:
			c.Failure = &junit.Message{Message: f.Title, Text: f.text}
		case grade.Skip:
			c.Skipped = &junit.Message{Message: plain.Line(f.text)}
		case grade.Pass:
		}
		suite.Add(c)
	}
	return suite
}
