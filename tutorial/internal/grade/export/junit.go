package export

import (
	"encoding/xml"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// The elements of JUnit's XML, as most programs read it. They have no times: those differ from run to run.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string           `xml:"name,attr"`
		Tests      int              `xml:"tests,attr"`
		Failures   int              `xml:"failures,attr"`
		Errors     int              `xml:"errors,attr"`
		Skipped    int              `xml:"skipped,attr"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitProperties struct {
		Properties []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit makes a test suite of each result.
func junit(results []grade.Result) ([]byte, error) {
	var all junitSuites
	for _, r := range results {
		suite := junitSuiteOf(r)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	out, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(out, '\n')...), err
}

func junitSuiteOf(r grade.Result) junitSuite {
	suite := junitSuite{Name: name(r)}
	if r.Student != "" {
		suite.Name = plain.Line(r.Student) + "/" + name(r)
	}
	if r.Status == grade.GraderError {
		suite.Tests, suite.Errors = 1, 1
		suite.Cases = []junitCase{{Class: suite.Name, Name: "Grader", Error: &junitMessage{"the grader failed", plain.Text(r.Message)}}}
		return suite
	}
	suite.Properties = &junitProperties{[]junitProperty{{"score", gradebook.Number(r.Score)}, {"max_score", gradebook.Number(r.MaxScore)}}}
	for _, f := range features(r) {
		c := junitCase{Class: suite.Name, Name: f.Name}
		switch f.Status {
		case grade.Fail:
			suite.Failures++
			c.Failure = &junitMessage{f.Title, f.text}
		case grade.Skip:
			suite.Skipped++
			c.Skipped = &junitMessage{Message: plain.Line(f.text)}
		case grade.Pass:
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	return suite
}
