package check

import (
	"fmt"

	"github.com/example/operator-testbed/e2e/framework"
)

// Score says how many features hold.
type Score struct {
	// Held is how many features hold, and Of how many could be tried where the suite ran, or could not be tried because something is
	// broken.
	Held, Of int
	// First is the name of the first feature that does not hold; empty if all do.
	First string
}

// ScoreOf counts results. What this cluster can't run, and what does not apply, is out of the score.
func ScoreOf(results []framework.Result) Score {
	var s Score
	for _, r := range results {
		switch {
		case r.Outcome == framework.Holds:
			s.Held++
		case !r.Failed:
			continue
		case s.First == "":
			s.First = NameOf(r)
		}
		s.Of++
	}
	return s
}

// Full reports whether all features hold.
func (s Score) Full() bool { return s.Held == s.Of }

// String returns the score in words.
func (s Score) String() string {
	if s.Of == 1 {
		return fmt.Sprintf("%d of 1 feature holds", s.Held)
	}
	return fmt.Sprintf("%d of %d features hold", s.Held, s.Of)
}
