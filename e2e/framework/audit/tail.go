package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Tail reads a log from near its end on, as it grows. It is not safe for concurrent use.
type Tail struct {
	log    *Log
	back   int64 // bytes from the end to begin with
	begun  bool
	offset int64 // of the first line that was not read; known once it has begun
}

// Tail returns a Tail that begins with the requests in the last so many bytes of the log.
func (l *Log) Tail(bytes int64) *Tail { return &Tail{log: l, back: bytes} }

// Next returns the completed requests that were logged since the last call and that pass every filter. A log without a file has none.
func (t *Tail) Next(filters ...Filter) ([]auditv1.Event, error) {
	file, err := os.Open(t.log.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	lines, err := t.from(file)
	if errors.Is(err, io.EOF) { // there is nothing there but a part of a line
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	var events []auditv1.Event
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the API server may be in the middle of a line
			return events, nil
		}
		if err == nil {
			t.offset += int64(len(line))
			events, err = appendEvent(events, line, Mark{}, filters)
		}
		if err != nil {
			return events, fmt.Errorf("read the audit log %s: %w", t.log.path, err)
		}
	}
}

// from returns the part of the file that was not read, which begins with a whole line.
func (t *Tail) from(file *os.File) (*bufio.Reader, error) {
	if !t.begun {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if t.offset, err = lineAfter(file, info.Size()-t.back); err != nil {
			return nil, err
		}
		t.begun = true
	}
	return bufio.NewReaderSize(io.NewSectionReader(file, t.offset, math.MaxInt64-t.offset), 1<<20), nil
}

// lineAfter returns where the first line starts that starts at an offset or after it.
func lineAfter(file *os.File, offset int64) (int64, error) {
	if offset <= 0 {
		return 0, nil
	}
	offset-- // where the line before may end
	rest, err := bufio.NewReader(io.NewSectionReader(file, offset, math.MaxInt64-offset)).ReadBytes('\n')
	return offset + int64(len(rest)), err
}
