package board_test

import (
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// at is an event so many minutes after the start.
func at(minutes int, e event.Event) event.Event {
	e.At = start.Add(time.Duration(minutes) * time.Minute)
	return e
}

func failing(passed int, first string) event.Event {
	return event.Event{Kind: "check", Outcome: "fail", Passed: passed, Of: 5, FirstFailed: first}
}

func hints(count int) event.Event { return event.Event{Kind: "hint", Hints: count} }

var (
	passing  = event.Event{Kind: "check", Outcome: "pass", Passed: 5, Of: 5}
	notBuilt = event.Event{Kind: "check", Outcome: "not_built"}
	reset    = event.Event{Kind: "reset"}
)

func withHints(count int, e event.Event) event.Event {
	e.Hints = count
	return e
}

func only(e event.Event) event.Event {
	e.Only = "TestPort"
	return e
}

func TestStuckOn(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []event.Event
		now    int
		want   string
		since  int
	}{
		{"nothing yet", nil, 60, "", 0},
		{"just started", []event.Event{at(0, failing(0, "TestA"))}, 14, "", 0},

		{"two checks", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA"))}, 2, "", 0},
		{
			"three checks",
			[]event.Event{at(0, failing(1, "TestB")), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(3, failing(0, "TestA"))},
			4, "3 checks in a row: TestA fails", 1,
		},
		{
			"four checks",
			[]event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(3, failing(0, "TestA"))},
			4, "4 checks in a row: TestA fails", 0,
		},
		{"another feature between", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, failing(0, "TestB")), at(3, failing(0, "TestA"))}, 4, "", 0},
		{"a hint between", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, hints(1)), at(3, withHints(1, failing(0, "TestA")))}, 4, "3 checks in a row: TestA fails", 0},
		{"three that do not compile", []event.Event{at(0, notBuilt), at(1, notBuilt), at(2, notBuilt)}, 3, "3 checks in a row: it does not compile", 0},
		{"one feature, three times", []event.Event{at(0, only(failing(0, "TestPort"))), at(1, only(failing(0, "TestPort"))), at(2, only(failing(0, "TestPort")))}, 3, "3 checks in a row: TestPort fails", 0},
		{"one feature that holds", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, only(passing)), at(3, failing(0, "TestA"))}, 4, "", 0},

		{"15 minutes", []event.Event{at(0, failing(0, "TestA"))}, 15, "no progress for 15 minutes", 0},
		{"15 minutes since progress", []event.Event{at(0, failing(0, "TestA")), at(10, failing(2, "TestC"))}, 24, "", 0},
		{"20 minutes since progress", []event.Event{at(0, failing(0, "TestA")), at(10, failing(2, "TestC"))}, 30, "no progress for 20 minutes", 10},
		{"as many as before", []event.Event{at(0, failing(2, "TestA")), at(10, failing(2, "TestB"))}, 16, "no progress for 16 minutes", 0},
		{"back to where it was", []event.Event{at(0, failing(2, "TestA")), at(5, failing(1, "TestB")), at(10, failing(2, "TestA"))}, 16, "no progress for 16 minutes", 0},
		{"one feature alone", []event.Event{at(0, failing(0, "TestA")), at(10, only(failing(3, "TestB")))}, 16, "no progress for 16 minutes", 0},

		{"two hints", []event.Event{at(0, hints(1)), at(1, hints(2))}, 2, "", 0},
		{"the last hint", []event.Event{at(0, hints(1)), at(1, hints(2)), at(2, hints(3))}, 3, "3 hints without progress", 2},
		{"the last hint, and then progress", []event.Event{at(0, failing(0, "TestA")), at(1, hints(1)), at(2, hints(2)), at(3, hints(3)), at(4, withHints(3, failing(1, "TestB")))}, 5, "", 0},
		{"the first hint after progress", []event.Event{at(0, failing(0, "TestA")), at(1, hints(3)), at(2, withHints(3, failing(1, "TestB"))), at(3, hints(4))}, 4, "", 0},
		{"the last hint before a check that shows no progress", []event.Event{at(0, failing(0, "TestA")), at(1, hints(1)), at(2, hints(2)), at(3, hints(3)), at(4, withHints(3, failing(0, "TestB")))}, 5, "3 hints without progress", 3},

		{"everything", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(3, hints(3))}, 20, "3 checks in a row: TestA fails, 3 hints without progress, no progress for 20 minutes", 0},
		{"done", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(3, passing)}, 60, "", 0},
		{"done, and tried on", []event.Event{at(0, passing), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(3, failing(0, "TestA"))}, 60, "", 0},
		{"started over", []event.Event{at(0, failing(0, "TestA")), at(1, failing(0, "TestA")), at(2, failing(0, "TestA")), at(20, reset)}, 30, "", 0},
		{"started over, long ago", []event.Event{at(0, failing(0, "TestA")), at(20, reset)}, 35, "no progress for 15 minutes", 20},
	} {
		got := board.StuckOn(test.events, start.Add(time.Duration(test.now)*time.Minute))
		if got.String() != test.want {
			t.Errorf("%s: got %q, expected %q", test.name, got, test.want)
		}
		if want := start.Add(time.Duration(test.since) * time.Minute); test.want != "" && !got.Since.Equal(want) {
			t.Errorf("%s: since %s, expected %s", test.name, got.Since, want)
		}
	}
}
