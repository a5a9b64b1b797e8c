// Package progress computes from events how far a learner is: which chapters and break-it labs are done, in whichever copy.
package progress

import (
	"fmt"
	"io"

	"github.com/example/operator-testbed/tutorial/internal/event"
)

// Entry is how far a learner is with a chapter or a break-it lab.
type Entry struct {
	// Name is the name of the chapter or the lab.
	Name string
	// Done is true if a check of all features has found that all of them hold.
	Done bool
	// Checks is how many checks of all features there were, and Last the last one of them.
	Checks int
	Last   event.Event
	// Hints is how many hints the learner has had.
	Hints int
}

// Progress is how far a learner is, in the order of the tutorial.
type Progress struct {
	Chapters []Entry
	Labs     []Entry
}

// Of computes progress with these chapters and labs from all events of a learner, in their order.
func Of(chapters, labs []string, events []event.Event) Progress {
	of := func(names []string, nameOf func(event.Event) string) []Entry {
		entries := make([]Entry, len(names))
		for i, name := range names {
			entries[i].Name = name
			for _, e := range events {
				if nameOf(e) == name {
					entries[i].add(e)
				}
			}
		}
		return entries
	}
	return Progress{
		Chapters: of(chapters, func(e event.Event) string {
			if e.Lab != "" {
				return ""
			}
			return e.Stage
		}),
		Labs: of(labs, func(e event.Event) string { return e.Lab }),
	}
}

// add takes in an event.
func (n *Entry) add(e event.Event) {
	switch {
	case e.Kind == event.Hint:
		n.Hints++
	case e.Kind == event.Check && e.Only == "":
		n.Checks++
		n.Last, n.Done = e, n.Done || e.Done()
	}
}

// String returns what is known of the entry in words; empty if the learner has not begun with it.
func (n Entry) String() string {
	var text string
	switch {
	case n.Done:
		text = "done"
	case n.Checks > 0 && n.Last.Outcome == event.NotBuilt:
		text = "does not compile"
	case n.Checks > 0:
		text = fmt.Sprintf("%d of %d features hold; %s does not", n.Last.Passed, n.Last.Of, n.Last.FirstFailed)
	case n.Hints > 0:
		text = "not checked yet"
	default:
		return ""
	}
	switch n.Hints {
	case 0:
		return text
	case 1:
		return text + " (1 hint)"
	default:
		return fmt.Sprintf("%s (%d hints)", text, n.Hints)
	}
}

// Print prints all chapters, the labs that the learner has begun with, and how many are done.
func (p Progress) Print(out io.Writer) {
	for _, chapter := range p.Chapters {
		text := chapter.String()
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(out, "  %-20s %s\n", chapter.Name, text)
	}
	for _, lab := range p.Labs {
		if text := lab.String(); text != "" {
			fmt.Fprintf(out, "  %-20s %s\n", lab.Name, text)
		}
	}
	fmt.Fprintf(out, "\n%d of %d chapters and %d of %d labs are done.\n", done(p.Chapters), len(p.Chapters), done(p.Labs), len(p.Labs))
}

func done(entries []Entry) int {
	count := 0
	for _, entry := range entries {
		if entry.Done {
			count++
		}
	}
	return count
}
