package events

import (
	"fmt"
	"io"

	"github.com/example/operator-testbed/e2e/junit"
)

// WriteJUnit writes packages as a JUnit file. A package that failed, without a test that did, is a test case itself.
func WriteJUnit(w io.Writer, packages []Package) error {
	var suites []junit.Suite
	for _, p := range packages {
		suite := junit.Suite{Name: p.Name, Time: junit.Seconds(p.Elapsed)}
		failed := false
		for _, test := range p.Tests {
			failed = failed || test.Verdict == "fail"
			suite.Add(caseOf(test))
		}
		if p.Verdict == "fail" && !failed {
			suite.Add(caseOf(Test{Package: p.Name, Name: p.Name, Verdict: "fail", Elapsed: p.Elapsed, Output: p.Output}))
		}
		if len(suite.Cases) > 0 {
			suites = append(suites, suite)
		}
	}
	text, err := junit.Encode(suites)
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = w.Write(text)
	return err
}

func caseOf(test Test) junit.Case {
	c := junit.Case{Class: test.Package, Name: test.Name, Time: junit.Seconds(test.Elapsed)}
	switch test.Verdict {
	case "fail":
		c.Failure = &junit.Message{Message: "failed", Text: test.Output}
	case "skip":
		c.Skipped = &junit.Message{Message: reason(test.Output)}
	}
	return c
}
