package gorun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// exitStatus is what the go command says, last of all, of a command that failed.
var exitStatus = regexp.MustCompile(`^exit status \d+$`)

// listener gets the standard error of a command. It passes each line on when it
// comes, and keeps those that begin the message of a failure, or follow it.
type listener struct {
	progress io.Writer
	// failing begins the message of a failure.
	failing string

	mu      sync.Mutex
	partial []byte
	spoken  bool   // the command itself has said something
	last    string // the last line that was passed on
	message []string
}

// Write never fails: whoever does not want to know must not stop the work.
func (l *listener) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, data...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(data), nil
		}
		l.hear(string(line))
		l.partial = rest
	}
}

// flush hears the last line, should it have no end.
func (l *listener) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) > 0 {
		l.hear(string(l.partial))
		l.partial = nil
	}
}

func (l *listener) hear(line string) {
	message, fails := strings.CutPrefix(line, l.failing)
	switch {
	case exitStatus.MatchString(line):
	case fails || len(l.message) > 0:
		l.message = append(l.message, message)
	default:
		// Before the command, the go command may tell that it downloads another Go.
		l.spoken = l.spoken || !strings.HasPrefix(line, "go: ")
		l.last = line
		fmt.Fprintln(l.progress, line)
	}
}

// whileSilent tells what is going on as long as the command itself has not.
func (l *listener) whileSilent(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.spoken {
		fmt.Fprintf(l.progress, format+"\n", args...)
	}
}

// failure is the message that the command failed with, or, where there is none,
// what is known: how it ended, and its last line.
func (l *listener) failure(ended error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.message) > 0:
		return errors.New(strings.Join(l.message, "\n"))
	case l.last != "":
		return fmt.Errorf("%w: %s", ended, l.last)
	default:
		return ended
	}
}
