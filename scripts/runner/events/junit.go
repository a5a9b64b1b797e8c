package events

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// The elements of a JUnit file, as far as they are read by those who show it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes packages as a JUnit file. A package that failed, without a test that did, is a test case itself.
func WriteJUnit(w io.Writer, packages []Package) error {
	var all junitSuites
	for _, p := range packages {
		suite := junitSuite{Name: p.Name, Time: junitTime(p.Elapsed)}
		failed := false
		for _, test := range p.Tests {
			failed = failed || test.Verdict == "fail"
			suite.add(test)
		}
		if p.Verdict == "fail" && !failed {
			suite.add(Test{Package: p.Name, Name: p.Name, Verdict: "fail", Elapsed: p.Elapsed, Output: p.Output})
		}
		if len(suite.Cases) > 0 {
			all.Suites = append(all.Suites, suite)
		}
	}
	text, err := xml.MarshalIndent(all, "", "\t")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func (s *junitSuite) add(test Test) {
	c := junitCase{Class: test.Package, Name: test.Name, Time: junitTime(test.Elapsed)}
	switch test.Verdict {
	case "fail":
		c.Failure = &junitMessage{Message: "failed", Text: test.Output}
		s.Failures++
	case "skip":
		c.Skipped = &junitMessage{Message: reason(test.Output)}
		s.Skipped++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
