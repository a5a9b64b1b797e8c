package conformance

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Outcome is what a check found.
type Outcome string

// The outcomes.
const (
	Holds         Outcome = "holds"
	DoesNotHold   Outcome = "does not hold"
	NotApplicable Outcome = "does not apply"
)

// Result is a point and what became of it.
type Result struct {
	// Point is the point of the contract, "2" for example.
	Point string
	// Claim is what the point says.
	Claim string
	// Outcome is what was found.
	Outcome Outcome
	// Why says why the claim does not hold or apply; it may have several lines.
	Why string
}

// Report is the results in the order of the contract.
type Report []Result

// Holds says how many claims hold, and of how many that apply.
func (r Report) Holds() (holding, applying int) {
	for _, result := range r {
		switch result.Outcome {
		case Holds:
			holding++
			applying++
		case DoesNotHold:
			applying++
		}
	}
	return holding, applying
}

// Text renders the report for a terminal: the points, and then why some do not hold.
func (r Report) Text() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, result := range r {
		fmt.Fprintf(table, "%s\t%s\t%s\n", result.Point, result.Outcome, result.Claim)
	}
	table.Flush() // into memory: it can't fail
	for _, result := range r {
		if result.Why != "" {
			fmt.Fprintf(&b, "\n%s %s: %s.\n", result.Point, result.Outcome, result.Claim)
			for line := range strings.Lines(result.Why) {
				fmt.Fprintf(&b, "  %s\n", shorten(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	return b.String()
}

// Markdown renders the points as a table, without the details, which hold names and times of one run.
func (r Report) Markdown() string {
	var b strings.Builder
	b.WriteString("| point | claim | outcome |\n|---|---|---|\n")
	for _, result := range r {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", result.Point, result.Claim, result.Outcome)
	}
	return b.String()
}

// widest is how much of a line is of use: what is longer is a whole object.
const widest = 240

func shorten(line string) string {
	if len(line) <= widest {
		return line
	}
	return strings.ToValidUTF8(line[:widest], "") + "..."
}
