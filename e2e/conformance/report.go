package conformance

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/example/operator-testbed/e2e/framework"
)

// Report contains the outcomes of the points, in the order of the contract.
type Report []framework.Result

// NewReport returns the outcomes of the points from the results of the suite. A point without a result was not tried. All texts are
// escaped, because the operator may have written any part of them.
func NewReport(points []Point, results []framework.Result) Report {
	var report Report
	for _, p := range points {
		result := framework.Result{Outcome: framework.NotTried, Reason: "the suite ended before"}
		if i := slices.IndexFunc(results, func(r framework.Result) bool { return r.Feature == p.Claim }); i >= 0 {
			result = results[i]
		}
		result.Message, result.Reason = Escape(result.Message), Escape(result.Reason)
		result.Feature, result.Labels = p.Claim, map[string]string{contract: p.Number}
		report = append(report, result)
	}
	return report
}

// Count returns the number of points with the outcome.
func (r Report) Count(outcome framework.Outcome) int {
	count := 0
	for _, result := range r {
		if result.Outcome == outcome {
			count++
		}
	}
	return count
}

// Text renders the report for a terminal: the points, then the reasons why some do not hold, and remarks.
func (r Report) Text() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, result := range r {
		if sample := result.Labels[sampleLabel]; sample != "" && (i == 0 || r[i-1].Labels[sampleLabel] != sample) {
			fmt.Fprintf(table, "%s\n", sample)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", result.Labels[contract], outcome(result), result.Feature)
	}
	table.Flush() // into memory: it can't fail
	for _, result := range r {
		if result.Outcome == framework.Holds && result.Reason == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s %s%s: %s.\n", result.Labels[contract], outcome(result), about(result.Labels[sampleLabel]), result.Feature)
		if reason := result.Labels[known]; reason != "" {
			fmt.Fprintf(&b, "  known: %s\n", reason)
		}
		for line := range strings.Lines(result.Message + result.Reason) {
			fmt.Fprintf(&b, "  %s\n", shorten(strings.TrimSuffix(line, "\n")))
		}
	}
	return b.String()
}

// Markdown renders the points as a table for each sample, without the details, which contain names and times of a single run.
func (r Report) Markdown() string {
	var b strings.Builder
	for i, result := range r {
		sample := result.Labels[sampleLabel]
		if i == 0 || r[i-1].Labels[sampleLabel] != sample {
			if i > 0 {
				b.WriteString("\n")
			}
			if sample != "" {
				fmt.Fprintf(&b, "%s:\n\n", sample)
			}
			b.WriteString("| point | claim | outcome |\n|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", result.Labels[contract], result.Feature, outcome(result))
	}
	return b.String()
}

// outcome is the outcome of a point as the tables show it.
func outcome(result framework.Result) string {
	if result.Labels[known] != "" {
		return string(result.Outcome) + ", known"
	}
	return string(result.Outcome)
}

// widest is how much of a line is of use: what is longer is a whole object.
const widest = 240

func shorten(line string) string {
	if len(line) <= widest {
		return line
	}
	return strings.ToValidUTF8(line[:widest], "") + "..."
}
