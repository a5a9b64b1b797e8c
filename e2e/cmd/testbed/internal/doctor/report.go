package doctor

import (
	"fmt"
	"io"
)

// Report writes the findings, each with its mend below it, and a last sentence.
// It returns how many things are lacking.
func Report(w io.Writer, findings []Finding) int {
	var subject, lacking int
	for _, f := range findings {
		subject = max(subject, len(f.Subject))
	}
	for _, f := range findings {
		fmt.Fprintf(w, "%-7s  %-*s  %s\n", f.Verdict, subject, f.Subject, f.Found)
		if f.Mend != "" {
			fmt.Fprintf(w, "%-7s  %-*s  mend: %s\n", "", subject, "", f.Mend)
		}
		if f.Verdict == Lacking {
			lacking++
		}
	}
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
