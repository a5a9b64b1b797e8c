// Package feedback writes what people read about grades: a page for each student, and an overview of the class for the teacher.
// A student's page says what was expected, what was seen and at which step. It never has the solution.
package feedback

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// Page returns a student's feedback as Markdown.
func Page(a gradebook.Assignment, row gradebook.Row) []byte {
	p := page{}
	p.line("# %s: feedback for %s", inline(a.Name), inline(row.Student.Name()))
	p.points(a, row)
	switch {
	case row.Result == nil:
		p.line("Nothing was handed in.")
	case row.Result.Status == grade.GraderError:
		p.line("The grader failed, so there is no grade yet. That is not because of your work. The grader's message:")
		p.block(row.Result.Message)
	case row.Result.Status == grade.NotGradable:
		p.line("What you handed in could not be graded:")
		p.block(row.Result.Message)
	default:
		p.features(row.Result.Tests)
	}
	if comment := plain.Text(row.Comment); comment != "" {
		p.line("## From your teacher")
		p.line("> %s", strings.ReplaceAll(comment, "\n", "\n> "))
	}
	if row.Result != nil && row.Result.Seed != "" {
		p.line("---")
		p.line("Names, sizes and ports were drawn from the seed `%s`.", strings.ReplaceAll(plain.Line(row.Result.Seed), "`", "'"))
	}
	return p.out.Bytes()
}

type page struct{ out bytes.Buffer }

// line writes a paragraph.
func (p *page) line(format string, arguments ...any) {
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	fmt.Fprintf(&p.out, format+"\n", arguments...)
}

// block writes text as it is, in a fence that the text does not have.
func (p *page) block(text string) {
	text = plain.Text(text)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	p.line("%stext\n%s\n%s", fence, text, fence)
}

// points says how the score came to be.
func (p *page) points(a gradebook.Assignment, row gradebook.Row) {
	points, ok := a.Points(row)
	if !ok {
		return
	}
	text := fmt.Sprintf("**%s of %s points.**", gradebook.Number(points.Score), gradebook.Number(points.Max))
	if row.Adjustment != 0 {
		text += fmt.Sprintf(" Your teacher changed the score by %s.", signed(row.Adjustment))
	}
	if points.Penalty > 0 {
		text += fmt.Sprintf(" Being late costs %s.", gradebook.Number(points.Penalty))
	}
	if !row.SubmittedAt.IsZero() {
		text += " Collected on " + stamp(row.SubmittedAt)
		if !a.Due.IsZero() {
			text += ", due on " + stamp(a.Due)
		}
		text += "."
	}
	p.line("%s", text)
}

func (p *page) features(tests []grade.Test) {
	of := func(status grade.Outcome) []grade.Test {
		return slices.DeleteFunc(slices.Clone(tests), func(t grade.Test) bool { return t.Status != status })
	}
	if failing := of(grade.Fail); len(failing) > 0 {
		p.line("## What does not hold yet")
		for _, test := range failing {
			p.line("### %s", title(test))
			p.line("%s of %s points.", gradebook.Number(test.Score), gradebook.Number(test.MaxScore))
			if test.Step != "" {
				p.line("The step that failed: %s", inline(test.Step))
			}
			// This is how the framework writes what it waited for.
			expected, seen, found := strings.Cut(strings.TrimPrefix(test.Message, "expected "), "; last seen: ")
			switch {
			case found:
				p.line("Expected:")
				p.block(expected)
				p.line("Last seen:")
				p.block(seen)
			case test.Message != "":
				p.block(test.Message)
			}
		}
	}
	if holding := of(grade.Pass); len(holding) > 0 {
		p.line("## What holds")
		p.list(holding, func(t grade.Test) string {
			text := fmt.Sprintf("%s of %s points", gradebook.Number(t.Score), gradebook.Number(t.MaxScore))
			if t.Flaky {
				text += "; it failed once, and held when it was tried again"
			}
			return text
		})
	}
	if skipped := of(grade.Skip); len(skipped) > 0 {
		p.line("## What was not tried, and is not part of the score")
		p.list(skipped, func(t grade.Test) string { return inline(t.Message) })
	}
}

func (p *page) list(tests []grade.Test, about func(grade.Test) string) {
	p.out.WriteByte('\n')
	for _, test := range tests {
		fmt.Fprintf(&p.out, "- %s (%s)\n", title(test), about(test))
	}
}

// title is the feature's name, and what it is about.
func title(test grade.Test) string {
	text := inline(test.Name)
	if test.Title != "" {
		text += ": " + inline(test.Title)
	}
	if test.Extra {
		text += ", a feature of your teacher's"
	}
	return text
}

// markup is what means something to Markdown in the middle of a line.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`, "&", `\&`, "!", `\!`,
)

// inline returns a text as a part of a line that shows it as it is.
func inline(text string) string { return markup.Replace(plain.Line(text)) }

func signed(points float64) string {
	if points < 0 {
		return gradebook.Number(points)
	}
	return "+" + gradebook.Number(points)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
