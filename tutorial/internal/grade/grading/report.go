package grading

import (
	"github.com/example/operator-testbed/e2e/framework/report"
)

// longestReport bounds a report, in bytes. It is kept in memory.
const longestReport = 64 << 20

// Errors in a report, which is the only thing that the grader believes: what a suite prints, a student's program may have printed. A test
// that has one doesn't pass, and running it again does not change that: a suite writes one line for each test, so the other lines are
// somebody else's.
const (
	reportedTwice = "the suite's report has more than one result for this feature, so none of them counts"
	unreadable    = "the suite's report has a line that is not a result, or is too long, so none of its results counts"
)

// newReport returns what one run of a suite reports. progress is called with the number of results so far when there are more. It may be nil.
func newReport(progress func(results int)) *report.Report {
	r := &report.Report{Limit: longestReport}
	if progress != nil {
		r.Done = func(report.Result) { progress(len(r.Results)) }
	}
	return r
}

// wrong returns why no result of a test counts in this report, or "".
func wrong(r *report.Report, test string) string {
	switch {
	case r.Broken() != nil:
		return unreadable
	case r.Twice(test):
		return reportedTwice
	}
	return ""
}

// clusterFailed reports whether the suite could not bring up its cluster, so that nothing is known of the operator.
func clusterFailed(r *report.Report) bool {
	return r.Start != nil && r.Broken() == nil && r.Start.Outcome == report.NotTried
}
