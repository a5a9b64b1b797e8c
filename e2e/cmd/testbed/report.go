package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/demo"
)

// report shows the user step by step what is done, and when.
type report struct {
	screen *demo.Screen
	begin  time.Time
}

func newReport(screen *demo.Screen) *report {
	return &report{screen: screen, begin: time.Now()}
}

// line writes a line as it is.
func (r *report) line(format string, args ...any) {
	r.screen.Line(fmt.Sprintf(format, args...))
}

// step writes what was done to a thing, and the time since the start.
func (r *report) step(subject, format string, args ...any) {
	r.change(demo.Change{Subject: subject, Text: fmt.Sprintf(format, args...)})
}

func (r *report) change(change demo.Change) {
	r.screen.Line(change.Line(time.Since(r.begin), r.screen.Style()))
}

// steps returns a writer that makes a step of every line. A line may quote an operator of another author, so it is escaped.
func (r *report) steps(subject string) io.Writer {
	return &stepWriter{report: r, subject: subject}
}

type stepWriter struct {
	report  *report
	subject string
	partial string
}

func (w *stepWriter) Write(data []byte) (int, error) {
	lines := strings.Split(w.partial+string(data), "\n")
	for _, line := range lines[:len(lines)-1] {
		w.report.step(w.subject, "%s", conformance.Escape(line))
	}
	w.partial = lines[len(lines)-1]
	return len(data), nil
}
