package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// State is what is known about the work at one moment.
type State struct {
	// Step counts from 1 to Steps. Steps is 0 while their number is unknown.
	Step, Steps int
	// Doing names the step: "compile".
	Doing string
	// Done of Total units are finished. They are shown once there is one.
	Done, Total int
	Unit        string
}

// Line is the state in one line, after an elapsed time, with what goes on beside it.
func (s State) Line(elapsed time.Duration, beside State) string {
	var b strings.Builder
	if s.Steps > 0 {
		fmt.Fprintf(&b, "[%d/%d] ", s.Step, s.Steps)
	}
	b.WriteString(s.text())
	if beside.Doing != "" {
		fmt.Fprintf(&b, "; %s", beside.text())
	}
	fmt.Fprintf(&b, ", %s", elapsed.Round(time.Second))
	return b.String()
}

func (s State) text() string {
	if s.Done == 0 {
		return s.Doing
	}
	return fmt.Sprintf("%s: %s of %s %s", s.Doing, number(s.Done), number(s.Total), s.Unit)
}

// number groups the digits: 2,078.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// fit cuts a line so that a terminal does not wrap it.
func fit(line string, columns int) string {
	runes := []rune(line)
	if columns <= 1 || len(runes) < columns {
		return line
	}
	return string(runes[:columns-2]) + "…"
}
