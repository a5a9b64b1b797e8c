package grading

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// longestLine bounds a line of the report, in bytes.
const longestLine = 4 << 20

// report is what one run of a suite has reported.
type report struct {
	lines map[string]line // by test
	// start is the line of the cluster or the operator that could not start, or nil.
	start *line
}

// readReport reads a report. One that was not written has no lines.
func readReport(path string) (report, error) {
	r := report{lines: map[string]line{}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, longestLine)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return r, fmt.Errorf("read the suite's report: %w", err)
		}
		if l.Test == "" {
			r.start = &l
		} else {
			r.lines[l.Test] = l
		}
	}
	return r, scanner.Err()
}

// clusterFailed reports whether the suite could not bring up its cluster, so that nothing is known of the operator.
func (r report) clusterFailed() bool { return r.start != nil && r.start.Outcome == notTried }
