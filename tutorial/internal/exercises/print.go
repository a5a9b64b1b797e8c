package exercises

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
)

// outcomeWidth is the length of the longest outcome.
const outcomeWidth = len(framework.DoesNotApply)

// printResult prints a line about a feature.
func printResult(out io.Writer, c chapter.Chapter, r framework.Result) {
	name := check.NameOf(r)
	fmt.Fprintf(out, "%-*s  %s: %s\n", outcomeWidth, r.Outcome, name, claimOf(c, r))
}

// claimOf returns what a feature proves. A suite that the chapter does not describe says it in its own words.
func claimOf(c chapter.Chapter, r framework.Result) string {
	return cmp.Or(c.Features[check.NameOf(r)].Claim, r.Feature)
}

// printFailures prints what is known about each feature that does not hold, with or without a hint. What keeps several features from
// being tried is printed once. All of it is one write, into which no line about progress can come.
func printFailures(out io.Writer, c chapter.Chapter, hints bool, results []framework.Result) {
	var text bytes.Buffer
	defer func() { _, _ = text.WriteTo(out) }()
	// The hints of single features would lead a learner away from a cause that they share.
	shared := sharedClues(results)
	switch {
	case len(shared) > 0:
		fmt.Fprintln(&text, "\nAll features that do not hold share this clue, so look for one cause:")
		for _, clue := range shared {
			printDetail(&text, "clue", clue)
		}
		hints = false
	case failAlike(results):
		fmt.Fprintln(&text, "\nAll features that do not hold fail in the same way, so look for one cause: compare what was expected with what was seen.")
		hints = false
	}
	for _, r := range results {
		if r.Outcome != framework.DoesNotHold {
			continue
		}
		name := check.NameOf(r)
		fmt.Fprintf(&text, "\n%s does not hold: %s\n", name, claimOf(c, r))
		printDetail(&text, "step", r.Step)
		if r.Expected == "" {
			printDetail(&text, "failure", r.Message)
		}
		printDetail(&text, "expected", r.Expected)
		printDetail(&text, "last seen", r.Seen)
		for _, clue := range r.Clues {
			if !slices.Contains(shared, general(clue)) {
				printDetail(&text, "clue", clue)
			}
		}
		if hints {
			printDetail(&text, "hint", c.Features[name].Hint)
		}
		printDetail(&text, "artifacts", r.Artifacts)
	}
	for _, g := range byReason(results, true) {
		fmt.Fprintf(&text, "\nNot tried: %s\n", strings.Join(g.names, ", "))
		printDetail(&text, "because", g.reason)
	}
}

// sharedClues returns the clues, in general terms, that all of at least two features that do not hold have.
func sharedClues(results []framework.Result) (shared []string) {
	failed := 0
	for _, r := range results {
		if r.Outcome != framework.DoesNotHold {
			continue
		}
		var clues []string
		for _, clue := range r.Clues {
			if clue = general(clue); !slices.Contains(clues, clue) && (failed == 0 || slices.Contains(shared, clue)) {
				clues = append(clues, clue)
			}
		}
		if shared, failed = clues, failed+1; len(shared) == 0 {
			return nil
		}
	}
	if failed < 2 {
		return nil
	}
	return shared
}

// failAlike reports whether at least two features do not hold, all with the same message about other objects and other numbers.
func failAlike(results []framework.Result) bool {
	var messages []string
	for _, r := range results {
		if r.Outcome == framework.DoesNotHold && r.Expected != "" {
			messages = append(messages, number.ReplaceAllString(general(r.Expected+"; "+r.Seen), "…"))
		} else if r.Outcome == framework.DoesNotHold {
			return false
		}
	}
	return len(messages) > 1 && len(slices.Compact(messages)) == 1
}

var (
	// generated matches the names that Kubernetes and a suite make for each feature, with the prefix, and the namespace before it.
	generated = regexp.MustCompile(`\b(?:[a-z0-9-]+/)?[a-z0-9-]+-[bcdfghjklmnpqrstvwxz2456789]{5,10}\b`)
	number    = regexp.MustCompile(`\d+`)
)

// general returns a clue with … in place of what was generated for one feature.
func general(clue string) string { return generated.ReplaceAllString(clue, "…") }

// printDetail prints one thing about a feature, whose further lines are indented; it prints nothing where there is nothing to say.
func printDetail(out io.Writer, label, text string) {
	if text != "" {
		fmt.Fprintf(out, "  %-10s %s\n", label+":", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n             "))
	}
}

// printSkipped prints which features could not be tried on this cluster, and why.
func printSkipped(out io.Writer, results []framework.Result) {
	for _, g := range byReason(results, false) {
		fmt.Fprintf(out, "\nNot part of the score: %s\n", strings.Join(g.names, ", "))
		printDetail(out, "because", g.reason)
	}
}

// notTried are features that were not tried, for one reason.
type notTried struct {
	reason string
	names  []string
}

// byReason returns the features that were not tried and have failed, or have not.
func byReason(results []framework.Result, failed bool) []notTried {
	var groups []notTried
	for _, r := range results {
		if r.Outcome == framework.Holds || r.Outcome == framework.DoesNotHold || r.Failed != failed {
			continue
		}
		name := check.NameOf(r)
		if i := slices.IndexFunc(groups, func(g notTried) bool { return g.reason == r.Reason }); i >= 0 {
			groups[i].names = append(groups[i].names, name)
		} else {
			groups = append(groups, notTried{r.Reason, []string{name}})
		}
	}
	return groups
}
