// Package report defines how a suite reports the outcomes of its features while it runs: as lines of JSON, each of which is a [Result].
package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Outcome is the outcome of a feature.
type Outcome string

const (
	// Holds means that every step has passed.
	Holds Outcome = "holds"
	// DoesNotHold means that a step has failed.
	DoesNotHold Outcome = "does not hold"
	// DoesNotApply means that no step has failed, and one was skipped because the operator lacks the feature that it tests.
	DoesNotApply Outcome = "does not apply"
	// NotTried means that no step has failed, and one was skipped because it could not be tried on this cluster, or that the feature's
	// steps were not reached.
	NotTried Outcome = "not tried"
)

// The features of the line that a suite has which can't start.
const (
	// StartOfCluster is the feature of the line if the cluster did not start. Its outcome is NotTried, with the cause as the Reason,
	// because nothing is known about the operator.
	StartOfCluster = "the cluster starts"
	// StartOfOperator is the feature of the line if the operator could not be installed or did not start. Its outcome is DoesNotHold, with
	// the cause as the Message.
	StartOfOperator = "the operator starts"
)

// Result is a line of the report: the outcome of one feature, as a JSON object. When a feature is done, the suite writes a line to what
// $TESTBED_REPORT names: a file, or a file descriptor such as fd:3. Each test has one line, except those that the flags of the run leave
// out. If the suite can't start, there is a single line without Test, for the feature [StartOfCluster] or [StartOfOperator].
type Result struct {
	// Suite is the suite's name, Feature the feature's, and Test that of its test function.
	Suite   string `json:"suite"`
	Feature string `json:"feature"`
	Test    string `json:"test"`
	// Labels are the feature's labels. The values of a label with several values are separated by commas.
	Labels map[string]string `json:"labels,omitempty"`
	// Outcome is the outcome of the feature.
	Outcome Outcome `json:"outcome"`
	// Step is the claim of the first step that failed or, if none did, that was skipped. It is empty for a Setup step.
	Step string `json:"step,omitempty"`
	// Expected and Seen are the two parts of Message. They are empty if it has no such parts.
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	// Message is the message of the failed step. It is empty if the step failed through a *testing.T instead of its scope.
	Message string `json:"message,omitempty"`
	// Reason says why the feature does not apply or was not tried. For a feature that holds, it is a remark.
	Reason string `json:"reason,omitempty"`
	// Failed means that the feature's test has failed. A feature that was not tried has failed if something was broken, but not if this
	// cluster can't run it.
	Failed bool `json:"failed,omitempty"`
	// Artifacts is the directory with the evidence of a failure.
	Artifacts string `json:"artifacts,omitempty"`
	// Clues are the operator's last errors, and the last warnings about objects in the feature's namespace, if the feature has failed.
	Clues []string `json:"clues,omitempty"`
	// Seed is $TESTBED_SEED of the run, from which names, sizes and ports are derived.
	Seed uint64 `json:"seed"`
	// Took is how long the feature ran, in the format of time.Duration, such as "1.2s". It is empty if the feature was not tried.
	Took string `json:"took"`
}

// Report collects what a suite has reported. Write the suite's output to it.
type Report struct {
	// Results are the results of tests, in the order of their lines. If a test has several lines, the first one counts.
	Results []Result
	// Start is the line of the cluster or the operator that could not start, or nil.
	Start *Result
	// Limit is how long the report may be, in bytes. 0 means that there is no limit.
	Limit int
	// Done is called with each result as soon as its line is complete, unless it is nil.
	Done func(Result)

	length int
	rest   []byte         // the beginning of the next line
	lines  map[string]int // by test
	first  string         // the first test with a second line
	broken error
}

// errTooLong is why nothing counts in a report that exceeds its limit.
var errTooLong = errors.New("it is too long")

// Write adds a part of the report, and never fails: see [Report.Err]. A line counts when it is complete, so the last line of a suite that
// was stopped while writing it does not count.
func (r *Report) Write(p []byte) (int, error) {
	if r.length += len(p); r.Limit > 0 && r.length > r.Limit {
		r.rest, r.broken = nil, cmp.Or(r.broken, errTooLong)
		return len(p), nil
	}
	for more := p; ; {
		line, rest, complete := bytes.Cut(more, []byte("\n"))
		r.rest = append(r.rest, line...)
		if !complete {
			return len(p), nil
		}
		r.add(r.rest)
		r.rest, more = r.rest[:0], rest
	}
}

func (r *Report) add(line []byte) {
	var result Result
	err := json.Unmarshal(line, &result)
	switch {
	case err != nil:
	case result.Outcome == "":
		err = fmt.Errorf("a line has no outcome: %s", line)
	case result.Test == "" && len(r.Results) > 0, r.Start != nil: // a suite that has not started has no tests
		err = fmt.Errorf("a suite that can't start has one line, and this is another: %s", line)
	case result.Test == "":
		r.Start = &result
		return
	case r.lines[result.Test] > 0:
		r.lines[result.Test]++
		r.first = cmp.Or(r.first, result.Test)
		return
	default:
		if r.lines == nil {
			r.lines = map[string]int{}
		}
		r.lines[result.Test]++
		r.Results = append(r.Results, result)
		if r.Done != nil {
			r.Done(result)
		}
		return
	}
	r.broken = cmp.Or(r.broken, err)
}

// Follow reads a report until it ends, or until something is wrong with it.
func (r *Report) Follow(from io.Reader) error {
	for lines := bufio.NewReader(from); ; {
		part, err := lines.ReadSlice('\n')
		_, _ = r.Write(part) // it never fails
		switch wrong := r.Err(); {
		case wrong != nil:
			return wrong
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull): // the line goes on in the next part
			return err
		}
	}
}

// Of returns the result of a test, and whether there is one.
func (r *Report) Of(test string) (Result, bool) {
	for _, result := range r.Results {
		if result.Test == test {
			return result, true
		}
	}
	return Result{}, false
}

// Broken returns the error of the report as a whole, in which case none of its results counts: a line that is not a result or that a suite
// does not write there, or a report that is too long.
func (r *Report) Broken() error { return r.broken }

// Twice reports whether a test has several lines. A suite writes only one, so its result does not count.
func (r *Report) Twice(test string) bool { return r.lines[test] > 1 }

// Err returns the error of the report, if there is one.
func (r *Report) Err() error {
	if r.broken == nil && r.first != "" {
		return fmt.Errorf("it has more than one result for %s", r.first)
	}
	return r.broken
}
