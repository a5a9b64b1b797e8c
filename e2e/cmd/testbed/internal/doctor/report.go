package doctor

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report writes the findings, each with the command that fixes it below, and a summary.
// It returns how many things are lacking.
func Report(w io.Writer, findings []Finding) int {
	lacking := 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%-7s\t%s\t%s\n", f.Verdict, f.Subject, f.Found)
		if f.Fix != "" {
			fmt.Fprintf(table, "\t\tfix: %s\n", f.Fix)
		}
		if f.Verdict == Lacking {
			lacking++
		}
	}
	table.Flush()
	switch lacking {
	case 0:
		fmt.Fprintln(w, "This machine has all that the testbed needs.")
	case 1:
		fmt.Fprintln(w, "This machine lacks 1 thing that the testbed needs.")
	default:
		fmt.Fprintf(w, "This machine lacks %d things that the testbed needs.\n", lacking)
	}
	return lacking
}
