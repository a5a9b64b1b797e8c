package isolation

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestReport runs a command that reports, and prints. Its children reach neither the report nor the lifeline through the first process of
// the cell.
func TestReport(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		testReport(t, Walls{outer: kind, inner: none})
	}
}

func testReport(t *testing.T, w Walls) {
	t.Helper()
	const script = `echo printed; echo complained >&2; echo reported >&3
		for fd in 0 1 2; do (echo forged >/proc/$PPID/fd/$fd) 2>/dev/null && echo "reaches $fd"; done
		(exec 3>&-; echo forged >&3) 2>/dev/null && echo "reaches 3"
		exit 7`
	var report, printed bytes.Buffer
	usage, err := w.Run(t.Context(), Command{
		Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &printed, Stderr: &printed, Report: &report,
		Limits: Limits{Time: patience},
	})
	if err != nil || usage.Exit != 7 {
		t.Fatalf("%s: %+v, %v\n%s", w.outer, usage, err, &printed)
	}
	if report.String() != "reported\n" && w.outer != none { // where there is no cell, root opens everything
		t.Errorf("%s: the report is %q", w.outer, &report)
	}
	if want := "printed\ncomplained\n"; printed.String() != want && w.outer != none {
		t.Errorf("%s: printed %q, expected %q", w.outer, &printed, want)
	}
	// What is forged may overtake the report, which comes through another pipe.
	if !strings.Contains(report.String(), "reported\n") {
		t.Errorf("%s: the report is %q, without what was reported", w.outer, &report)
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("it is full") }

// TestReportThatIsRefused ends a cell whose report can't be taken, rather than believing what has arrived of it.
func TestReportThatIsRefused(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		_, err := Walls{outer: kind, inner: none}.Run(t.Context(), Command{
			Args: []string{"/bin/sh", "-c", "while echo reported; do :; done >&3"}, Report: full{}, Limits: Limits{Time: patience},
		})
		if err == nil || !strings.Contains(err.Error(), "it is full") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}
