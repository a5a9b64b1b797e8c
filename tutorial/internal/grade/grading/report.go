package grading

import (
	"bytes"
	"encoding/json"
)

// line is what the grader reads of a line of a suite's report: see framework.Result. The report is the only thing that it believes. What
// a suite prints, a student's program may have printed.
type line struct {
	Feature  string `json:"feature"`
	Test     string `json:"test"` // empty for the start of the cluster or of the operator, which comes before all tests
	Outcome  string `json:"outcome"`
	Step     string `json:"step"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	Message  string `json:"message"`
	Reason   string `json:"reason"`
	Failed   bool   `json:"failed"`
}

// The outcomes of a line.
const (
	holds       = "holds"
	doesNotHold = "does not hold"
	notTried    = "not tried"
)

// longestReport bounds a report, in bytes. It is kept in memory.
const longestReport = 64 << 20

// Errors in a report. A test that has one doesn't pass, and running it again does not change that: a suite writes one line for each test,
// so the other lines are somebody else's.
const (
	reportedTwice = "the suite's report has more than one result for this feature, so none of them counts"
	unreadable    = "the suite's report has a line that is not a result, or is too long, so none of its results counts"
)

// report is what one run of a suite has reported.
type report struct {
	lines map[string]line // by test
	// start is the line of the cluster or the operator that could not start, or nil.
	start *line
	// twice are the tests that have several lines.
	twice map[string]bool
	// broken says that a line is not a result, or is not where it can be.
	broken bool
}

// err returns why no result of a test counts in this report, or "".
func (r report) err(test string) string {
	switch {
	case r.broken:
		return unreadable
	case r.twice[test]:
		return reportedTwice
	}
	return ""
}

// collector takes in a report while it is being written.
type collector struct {
	content bytes.Buffer
	tooLong bool
	lines   int
	// progress is called with the number of lines so far when there are more. It may be nil.
	progress func(lines int)
}

// Write takes everything, and keeps it up to a limit. An error would be the grader's, for what a student's program has made longer.
func (c *collector) Write(p []byte) (int, error) {
	if c.tooLong = c.tooLong || c.content.Len()+len(p) > longestReport; !c.tooLong {
		c.content.Write(p)
	}
	if more := bytes.Count(p, []byte("\n")); more > 0 && c.progress != nil {
		c.lines += more
		c.progress(c.lines)
	}
	return len(p), nil
}

// report returns what was reported. Of a report that is too long, nothing counts.
func (c *collector) report() report {
	r := readReport(c.content.Bytes())
	r.broken = r.broken || c.tooLong
	return r
}

// readReport reads what a suite has reported. The last line is cut off if the suite was ended while it wrote it, and does not count.
func readReport(content []byte) report {
	r := report{lines: map[string]line{}, twice: map[string]bool{}}
	for text := range bytes.Lines(content) {
		if !bytes.HasSuffix(text, []byte("\n")) {
			break
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil || l.Outcome == "" {
			r.broken = true
			continue
		}
		_, reported := r.lines[l.Test]
		switch {
		case l.Test == "" && r.start == nil && len(r.lines) == 0:
			r.start = &l
		case l.Test == "" || r.start != nil: // a suite that has not started has no tests
			r.broken = true
		case reported:
			r.twice[l.Test] = true
		default:
			r.lines[l.Test] = l
		}
	}
	return r
}

// clusterFailed reports whether the suite could not bring up its cluster, so that nothing is known of the operator.
func (r report) clusterFailed() bool {
	return r.start != nil && !r.broken && r.start.Outcome == notTried
}
