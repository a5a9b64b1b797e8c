package board

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

type (
	// view is what the page shows.
	view struct {
		Title   string
		Summary string
		Stuck   []stuckLine
		Stages  []string
		Lines   []line
	}
	stuckLine struct{ Name, Where, Why, For string }
	line      struct {
		ID, Name                string
		Cells                   []cell
		Fails, Hints, Last, Why string
	}
	// cell is how far a student is in a chapter or lab.
	cell struct {
		Class, Text string
		Passed, Of  int
		Here        bool // what the student has worked on last
	}
)

// look computes the page from what was reported, by student and copy. The names are the roster's.
func look(title string, students []Student, entries map[string]map[string][]entry, now time.Time) view {
	v := view{Title: title, Stages: stages(students, entries)}
	reported := 0
	var stuck []stuckOf
	for _, student := range students {
		l, s := lineOf(student, entries[student.ID], v.Stages, now)
		if len(entries[student.ID]) > 0 {
			reported++
		}
		if len(s.Why) > 0 {
			stuck = append(stuck, s)
		}
		v.Lines = append(v.Lines, l)
	}
	// Whoever waits longest is first.
	slices.SortStableFunc(stuck, func(a, b stuckOf) int { return a.Since.Compare(b.Since) })
	for _, s := range stuck {
		v.Stuck = append(v.Stuck, stuckLine{s.name, s.where, s.String(), ago(now.Sub(s.Since))})
	}
	v.Summary = fmt.Sprintf("%d of %d have reported, %d stuck.", reported, len(students), len(stuck))
	return v
}

// stages returns the chapters and labs that somebody works on.
func stages(students []Student, entries map[string]map[string][]entry) []string {
	found := map[string]bool{}
	for _, student := range students {
		for _, copied := range entries[student.ID] {
			found[stageOf(copied[0].Event)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func stageOf(e event.Event) string { return plain.Line(cmp.Or(e.Lab, e.Stage)) }

// stuckOf is who is stuck, and where.
type stuckOf struct {
	Stuck
	name, where string
}

// lineOf computes a student's line. Of each chapter, the copy counts that was used last.
func lineOf(student Student, copies map[string][]entry, stages []string, now time.Time) (line, stuckOf) {
	l := line{ID: student.ID, Name: plain.Line(cmp.Or(student.Name, student.ID)), Cells: make([]cell, len(stages))}
	latest := make([][]entry, len(stages))
	current := -1
	for _, copied := range copies {
		i := slices.Index(stages, stageOf(copied[0].Event))
		if latest[i] == nil || after(copied, latest[i]) {
			latest[i] = copied
		}
	}
	for i, copied := range latest {
		if copied == nil {
			continue
		}
		l.Cells[i] = cellOf(copied)
		if current < 0 || after(copied, latest[current]) {
			current = i
		}
	}
	if current < 0 {
		return l, stuckOf{}
	}
	l.Cells[current].Here = true
	var events []event.Event
	for _, e := range latest[current] {
		events = append(events, e.Event)
		if e.Event.Kind == event.Check {
			l.Fails = plain.Line(strings.TrimSuffix(failureOf(e.Event), " fails"))
		}
	}
	last := events[len(events)-1]
	l.Hints, l.Last = fmt.Sprint(last.Hints), "just now"
	if since := now.Sub(last.At); since >= time.Minute {
		l.Last = ago(since) + " ago"
	}
	s := stuckOf{StuckOn(events, now), l.Name, stages[current]}
	l.Why = plain.Line(s.String())
	return l, s
}

// after reports whether a was used after b. Copies that were used at the same time are in the order of their names.
func after(a, b []entry) bool {
	last, other := a[len(a)-1], b[len(b)-1]
	return cmp.Or(last.Event.At.Compare(other.Event.At), strings.Compare(last.Copy, other.Copy)) > 0
}

// cellOf is how far a copy is: done if it ever was, and else what its last whole check says.
func cellOf(copied []entry) cell {
	c := cell{Class: "faint", Text: "started"}
	for _, e := range copied {
		if e.Event.Kind == event.Reset {
			c = cell{Class: "faint", Text: "started over"}
		}
		if e.Event.Kind != event.Check || e.Event.Only != "" || c.Class == "pass" {
			continue
		}
		c = cell{Class: "fail", Text: fmt.Sprintf("%d of %d", e.Event.Passed, e.Event.Of), Passed: e.Event.Passed, Of: e.Event.Of}
		if e.Event.Done() {
			c.Class, c.Text = "pass", fmt.Sprintf("✓ %d of %d", e.Event.Passed, e.Event.Of)
		}
	}
	return c
}

// ago is a duration as people say it. It changes once a minute, so that the page is not sent more often.
func ago(d time.Duration) string {
	switch minutes := int(d / time.Minute); {
	case minutes < 1:
		return "less than a minute"
	case minutes == 1:
		return "1 minute"
	case minutes < 120:
		return fmt.Sprintf("%d minutes", minutes)
	default:
		return fmt.Sprintf("%d hours", minutes/60)
	}
}
