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
	// Doing names the step: "kube-apiserver: compile".
	Doing string
	// Done of Total units are finished. Total 0 means that there is nothing to
	// count.
	Done, Total int
	Unit        string
	// Left is an estimate of the time until the last step is finished; 0 means
	// that there is none.
	Left time.Duration
}

// Line is the state in one line, after an elapsed time.
func (s State) Line(elapsed time.Duration) string {
	var b strings.Builder
	if s.Steps > 0 {
		fmt.Fprintf(&b, "[%d/%d] ", s.Step, s.Steps)
	}
	b.WriteString(s.Doing)
	if s.Total > 0 {
		fmt.Fprintf(&b, " %s of %s %s", number(s.Done), number(s.Total), s.Unit)
	}
	fmt.Fprintf(&b, ", %s", elapsed.Round(time.Second))
	if s.Left > 0 {
		fmt.Fprintf(&b, ", about %s left", rough(s.Left))
	}
	return b.String()
}

// number groups the digits: 2,078.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// rough rounds an estimate to what it is worth.
func rough(d time.Duration) time.Duration {
	switch {
	case d > 5*time.Minute:
		return d.Round(time.Minute)
	case d > time.Minute:
		return d.Round(15 * time.Second)
	default:
		return max(d.Round(5*time.Second), 5*time.Second)
	}
}

// fit cuts a line so that a terminal does not wrap it.
func fit(line string, columns int) string {
	runes := []rune(line)
	if columns <= 1 || len(runes) < columns {
		return line
	}
	return string(runes[:columns-2]) + "…"
}
