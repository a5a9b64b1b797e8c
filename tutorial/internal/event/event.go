// Package event records what learners do with their copies: an event for each check, hint and reset. What is recorded names no code, and
// grades nobody. It shows how far a learner is.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// Schema names the format of [Event].
const Schema = "lab-event/v1"

// File is the name of the file with a copy's events, in its directory.
const File = ".events"

// Kind is what a learner has done.
type Kind string

const (
	// Check means that the learner has had the copy checked.
	Check Kind = "check"
	// Hint means that the learner has asked for a hint.
	Hint Kind = "hint"
	// Reset means that the learner has started over.
	Reset Kind = "reset"
)

// Outcome is how a check went.
type Outcome string

const (
	// Pass means that all features hold that were tried.
	Pass Outcome = "pass"
	// Fail means that one does not.
	Fail Outcome = "fail"
	// NotBuilt means that the operator does not compile.
	NotBuilt Outcome = "not_built"
)

// Event is one thing that a learner has done, as a line of JSON.
type Event struct {
	// Schema is always [Schema].
	Schema string `json:"schema"`
	// Class and Student are the names that the hand-out gives them. They are empty outside of a class.
	Class   string `json:"class,omitempty"`
	Student string `json:"student,omitempty"`
	// Stage is the chapter, such as "04-status". Lab is the break-it lab, where the copy is of one.
	Stage string `json:"stage"`
	Lab   string `json:"lab,omitempty"`
	// Seq counts the events of a copy, from 1.
	Seq int `json:"seq"`
	// At is when it was over, in UTC.
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`

	// Outcome is how a check went; it is empty for other kinds, as are the fields below, other than Hints.
	Outcome Outcome `json:"outcome,omitempty"`
	// Only is the expression that has chosen a part of the features; empty means that all were to be checked.
	Only string `json:"only,omitempty"`
	// Passed is how many features hold, and Of how many count.
	Passed int `json:"passed"`
	Of     int `json:"of"`
	// FirstFailed is the name of the first feature that does not hold.
	FirstFailed string `json:"first_failed,omitempty"`
	// Hints is how many hints the learner has had about this copy until then.
	Hints int `json:"hints"`
	// TookMS is how many milliseconds a check took.
	TookMS int64 `json:"took_ms"`
}

// Done reports whether the event shows that a chapter or lab is done: all of its features were checked, and hold.
func (e Event) Done() bool { return e.Kind == Check && e.Outcome == Pass && e.Only == "" }

// Class is what a hand-out writes into a copy, so that its events say whose they are.
type Class struct {
	// Class and Student are the names that the events get.
	Class   string `json:"class"`
	Student string `json:"student"`
	// Board is the address that the copy reports to, and Token what it shows there. Both are empty where the class has no board.
	Board string `json:"board,omitempty"`
	Token string `json:"token,omitempty"`
}

// ClassFile is the name of the file with a copy's [Class], in its directory, as YAML.
const ClassFile = ".class"

// ReadClass returns what a hand-out has written into the copy in dir. It is empty if there was none.
func ReadClass(dir string) (Class, error) {
	var c Class
	text, err := os.ReadFile(filepath.Join(dir, ClassFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read %s: %w; ask your teacher for the file again", filepath.Join(dir, ClassFile), err)
	}
	return c, nil
}

// Append appends an event to a file, and returns it as it stands there: with its schema, and, where it has no number yet, with that of
// the line. Several programs may append at once.
func Append(path string, e Event) (_ Event, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return e, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which also unlocks it
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return e, fmt.Errorf("lock %s: %w", path, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	lines := bytes.Count(before, []byte("\n"))
	var text []byte
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) { // a write that a full disk has cut off
		text, lines = []byte("\n"), lines+1
	}
	e.Schema = Schema
	if e.Seq == 0 {
		e.Seq = lines + 1
	}
	line, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	_, err = file.Write(append(append(text, line...), '\n'))
	return e, err
}

// Read returns the events in a file, in their order. There are none if the file does not exist. A line that can't be read is left out,
// and named by the error.
func Read(path string) ([]Event, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var events []Event
	var wrong []error
	number := 0
	for line := range bytes.Lines(content) {
		number++
		var e Event
		err := json.Unmarshal(line, &e)
		if err == nil && e.Schema != Schema {
			err = fmt.Errorf("its schema is %q, and not %s", e.Schema, Schema)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d of %s is not an event: %w; delete the line", number, path, err))
			continue
		}
		events = append(events, e)
	}
	return events, errors.Join(wrong...)
}

// Hints counts the hints among events.
func Hints(events []Event) int {
	count := 0
	for _, e := range events {
		if e.Kind == Hint {
			count++
		}
	}
	return count
}
