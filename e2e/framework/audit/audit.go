// Package audit reads the API server's audit log. The log is the witness of what an operator really
// asked for: it counts requests where they arrive, so neither a cache nor a client can hide one.
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
	"os"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Log is an audit log file. The API server may still be writing it.
type Log struct {
	path string
}

// Open returns the log at path. The file need not exist yet: a log without a file has no events.
func Open(path string) *Log { return &Log{path: path} }

// Mark is a moment: what the API server received before it does not count after it, also when it is logged later. The
// zero Mark is the log's beginning.
type Mark struct {
	offset int64 // every line before it was written before
	at     time.Time
}

// Now returns a Mark behind the last line that was written whole: the API server may be in the middle of the
// line after it. It reads the log's end only, because a log that hundreds of objects have written to is long, and
// every assertion about writes begins with a Mark.
func (l *Log) Now() (Mark, error) {
	// A request is logged a moment after its effects can be seen: by then, a test may have asked for a Mark.
	mark := Mark{at: time.Now()}
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return mark, nil
	}
	if err != nil {
		return mark, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return mark, fmt.Errorf("reading the audit log %s: %w", l.path, err)
	}
	buffer := make([]byte, 64<<10)
	for end > 0 {
		chunk := buffer[:min(int64(len(buffer)), end)]
		begin := end - int64(len(chunk))
		if _, err := file.ReadAt(chunk, begin); err != nil {
			return mark, fmt.Errorf("reading the audit log %s: %w", l.path, err)
		}
		if last := bytes.LastIndexByte(chunk, '\n'); last >= 0 {
			mark.offset = begin + int64(last) + 1
			return mark, nil
		}
		end = begin
	}
	return mark, nil
}

// Since returns the completed requests that the API server has received since mark and that pass every filter, in the
// order in which it finished them.
func (l *Log) Since(mark Mark, filters ...Filter) ([]auditv1.Event, error) {
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(mark.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log %s: %w", l.path, err)
	}

	var events []auditv1.Event
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log %s: %w", l.path, err)
		}
		event, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("reading the audit log %s: %w", l.path, err)
		}
		if event != nil && !event.RequestReceivedTimestamp.Time.Before(mark.at) && All(filters...)(event) {
			events = append(events, *event)
		}
	}
}

// parse returns the event in line, or nil when line is empty or is about a stage before the request's end: a
// request is counted once, when it is done.
func parse(line []byte) (*auditv1.Event, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, nil
	}
	event := &auditv1.Event{}
	if err := json.Unmarshal(line, event); err != nil {
		return nil, fmt.Errorf("line %.80q is no audit event: %w", line, err)
	}
	if event.Stage != auditv1.StageResponseComplete && event.Stage != auditv1.StagePanic {
		return nil, nil
	}
	return event, nil
}
