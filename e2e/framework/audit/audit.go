// Package audit reads the API server's audit log. The log is evidence of what an operator has really requested: requests are logged
// where they arrive, so neither a cache nor a client can hide one.
//
// The log is a file of JSON lines in the format of k8s.io/apiserver's audit.k8s.io/v1 Event. A cluster that
// keeps one has its path in cluster.Capabilities.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Log is an audit log file. The API server may still be writing it.
type Log struct {
	path string
}

// Open returns the log at path. The file need not exist: a log without a file has no events.
func Open(path string) *Log { return &Log{path: path} }

// Mark is a point in time in a log: requests that the API server received before it don't count after it, even if they are logged
// later. The zero Mark is the beginning of the log.
type Mark struct {
	offset int64 // the length of the log at that time
	at     time.Time
}

// Now returns a Mark for now. It does not read the log, which is long when hundreds of objects have written to it.
func (l *Log) Now() (Mark, error) {
	info, err := os.Stat(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return Mark{at: time.Now()}, nil
	}
	if err != nil {
		return Mark{}, fmt.Errorf("read the audit log: %w", err)
	}
	// A request is logged a moment after its effects can be seen, so a request from before the Mark may stand behind the offset.
	return Mark{offset: info.Size(), at: time.Now()}, nil
}

// Since returns the completed requests that the API server has received since mark and that pass every filter, in the
// order in which it finished them. A log without a file has none. It is an error if a line is not an audit event.
func (l *Log) Since(mark Mark, filters ...Filter) ([]auditv1.Event, error) {
	return l.Containing(mark, "", filters...)
}

// Containing is [Log.Since] without the requests whose line in the log does not contain text. That is faster than a filter in a long log,
// because other lines are not decoded.
func (l *Log) Containing(mark Mark, text string, filters ...Filter) ([]auditv1.Event, error) {
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	var events []auditv1.Event
	// The API server may have been in the middle of a line at the mark. It received that request before.
	begun := mark.offset > 0
	for lines := bufio.NewReaderSize(io.NewSectionReader(file, max(mark.offset-1, 0), math.MaxInt64), 1<<20); ; begun = false {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err == nil && !begun && bytes.Contains(line, []byte(text)) {
			events, err = appendEvent(events, line, mark, filters)
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log %s: %w", l.path, err)
		}
	}
}

// appendEvent appends the event in line, unless line is empty or is about a stage before the request's end: a request is counted once,
// when it is done.
func appendEvent(events []auditv1.Event, line []byte, mark Mark, filters []Filter) ([]auditv1.Event, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return events, nil
	}
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return nil, fmt.Errorf("line %.80q is no audit event: %w", line, err)
	}
	done := event.Stage == auditv1.StageResponseComplete || event.Stage == auditv1.StagePanic
	if done && !event.RequestReceivedTimestamp.Time.Before(mark.at) && All(filters...)(&event) {
		events = append(events, event)
	}
	return events, nil
}
