package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

// What makes a student stuck.
const (
	sameFailures = 3
	quiet        = 15 * time.Minute
)

// Stuck is why a student is stuck, in words, and since when. Without a reason, the student is not.
type Stuck struct {
	Why   []string
	Since time.Time
}

func (s *Stuck) add(since time.Time, format string, arguments ...any) {
	if s.Since.IsZero() || since.Before(s.Since) {
		s.Since = since
	}
	s.Why = append(s.Why, fmt.Sprintf(format, arguments...))
}

// String returns the reasons.
func (s Stuck) String() string { return strings.Join(s.Why, ", ") }

// StuckOn decides from the events of a copy, in their order, whether its student is stuck: when three checks in a row fail at the
// same feature, when there was no progress for 15 minutes, and when the last hint about a task, an exercise or a lab brought none:
// there are [chapter.Steps] about each. Progress is a check
// with more features than any before. A student who is done is not stuck, and one who starts over has a new chance.
func StuckOn(events []event.Event, now time.Time) Stuck {
	var s Stuck
	for i, e := range slices.Backward(events) {
		if e.Kind == event.Reset {
			events = events[i:]
			break
		}
	}
	if len(events) == 0 {
		return s
	}
	best, progress, hints, hinted := -1, events[0].At, events[0].Hints, time.Time{}
	failing, failures, since := "", 0, time.Time{}
	if events[0].Kind == event.Hint {
		hints-- // This one is new.
	}
	for _, e := range events {
		if e.Done() {
			return Stuck{}
		}
		if e.Kind == event.Hint {
			hinted = e.At
		}
		if e.Kind != event.Check {
			continue
		}
		if e.Only == "" && e.Passed > best {
			// The first check shows where the student starts.
			if best >= 0 {
				progress, hints, hinted = e.At, e.Hints, time.Time{}
			}
			best = e.Passed
		}
		at := failureOf(e)
		if at == "" || at != failing {
			failing, failures, since = at, 0, e.At
		}
		failures++
	}
	if failing != "" && failures >= sameFailures {
		s.add(since, "%d checks in a row: %s", failures, failing)
	}
	if last := events[len(events)-1]; last.Hints-hints >= chapter.Steps && !hinted.IsZero() {
		s.add(hinted, "%d hints without progress", last.Hints-hints)
	}
	if now.Sub(progress) >= quiet {
		s.add(progress, "no progress for %d minutes", int(now.Sub(progress)/time.Minute))
	}
	return s
}

// failureOf says at what a check fails. Nothing is empty.
func failureOf(e event.Event) string {
	switch {
	case e.Outcome == event.Pass:
		return ""
	case e.FirstFailed != "":
		return e.FirstFailed + " fails"
	default:
		return "it does not compile"
	}
}
