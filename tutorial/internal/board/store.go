package board

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

// Limits on what a student may send: far more than a week of work, and little enough for any disk.
const (
	mostBytes  = 256 << 10
	mostEvents = 20_000 // of a student
	mostCopies = 100
	mostText   = 100
	mostNumber = 1_000_000
)

// entry is a line of the file: an event, and when it came. Its time is that of the board's clock.
type entry struct {
	Received time.Time   `json:"received"`
	Copy     string      `json:"copy"`
	Event    event.Event `json:"event"`
}

// key is what an event is known by, however often it is sent.
type key struct {
	student, copy string
	seq           int
}

// store keeps the events in a file, to which it only appends.
type store struct {
	file    *os.File
	seen    map[key]bool
	entries map[string]map[string][]entry // by student and copy, in the order of their numbers
	count   map[string]int                // of a student's events
}

// openStore reads what there is. It removes a last line that was not written to its end, as when the machine lost power.
func openStore(path string) (_ *store, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	if len(whole) < len(content) {
		if err := file.Truncate(int64(len(whole))); err != nil {
			return nil, err
		}
	}
	s := &store{file: file, seen: map[key]bool{}, entries: map[string]map[string][]entry{}, count: map[string]int{}}
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d of %s is not an event: %w: remove the line", number, path, err)
		}
		s.remember(e)
	}
	return s, nil
}

// add writes those events of a report that are new, all or none.
func (s *store) add(r report.Report, now time.Time) error {
	var fresh []entry
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, e := range r.Events {
		k := key{e.Student, r.Copy, e.Seq}
		if s.seen[k] || slices.ContainsFunc(fresh, func(f entry) bool { return f.Event.Seq == e.Seq }) {
			continue
		}
		e.At = onOurClock(e.At, r.SentAt, now)
		fresh = append(fresh, entry{now.UTC(), r.Copy, e})
		if err := encoder.Encode(fresh[len(fresh)-1]); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	student := fresh[0].Event.Student
	copies := s.entries[student]
	if s.count[student]+len(fresh) > mostEvents || copies[r.Copy] == nil && len(copies) == mostCopies {
		return &refusal{429, fmt.Sprintf("the board has %d events of %d copies of yours, and takes no more: ask your teacher",
			s.count[student], len(copies))}
	}
	before, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := s.file.Write(lines.Bytes()); err != nil {
		return errors.Join(err, s.file.Truncate(before)) // a full disk
	}
	for _, e := range fresh {
		s.remember(e)
	}
	return nil
}

// onOurClock returns a time of the sender's clock as ours would have shown it. Nothing was done in the future.
func onOurClock(at, sent, now time.Time) time.Time {
	at = at.Add(now.Sub(sent)).UTC()
	if at.After(now) {
		return now.UTC()
	}
	return at
}

func (s *store) remember(e entry) {
	student := e.Event.Student
	k := key{student, e.Copy, e.Event.Seq}
	if s.seen[k] {
		return
	}
	s.seen[k] = true
	s.count[student]++
	if s.entries[student] == nil {
		s.entries[student] = map[string][]entry{}
	}
	all := slices.Concat(s.entries[student][e.Copy], []entry{e})
	slices.SortFunc(all, func(a, b entry) int { return a.Event.Seq - b.Event.Seq })
	s.entries[student][e.Copy] = all
}

// refusal is an answer to a report that the board does not take.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// check returns why a report of a student is refused.
func check(r report.Report, student string) error {
	wrong := func(format string, arguments ...any) error {
		return &refusal{400, "the report is wrong: " + fmt.Sprintf(format, arguments...) + ": update the testbed"}
	}
	if r.Schema != report.Schema {
		return wrong("its schema is %q, not %s", r.Schema, report.Schema)
	}
	if r.Copy == "" || len(r.Copy) > 64 || strings.Trim(r.Copy, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return wrong("the copy %.64q is not a name of letters and digits", r.Copy)
	}
	if len(r.Events) == 0 || len(r.Events) > report.Most {
		return wrong("it has %d events, and may have 1 to %d", len(r.Events), report.Most)
	}
	for _, e := range r.Events {
		switch {
		case e.Student != student:
			return &refusal{403, fmt.Sprintf("the token is not that of the student %.64q: use the copy that was handed out to you", e.Student)}
		case e.Schema != event.Schema:
			return wrong("the schema of an event is %.64q, not %s", e.Schema, event.Schema)
		case e.Kind != event.Check && e.Kind != event.Hint && e.Kind != event.Reset:
			return wrong("the unknown kind %.64q of an event", e.Kind)
		case e.Stage == "" && e.Lab == "":
			return wrong("an event of no chapter")
		case max(len(e.Stage), len(e.Lab), len(e.FirstFailed), len(e.Outcome)) > mostText || len(e.Only) > 10*mostText:
			return wrong("a text of more than %d bytes", mostText)
		case e.Seq < 1 || max(e.Seq, e.Passed, e.Of, e.Hints) > mostNumber || min(e.Passed, e.Of, e.Hints) < 0 || e.Passed > e.Of:
			return wrong("impossible numbers in the event %d", e.Seq)
		}
	}
	return nil
}
