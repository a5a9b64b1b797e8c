package conformance

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework"
)

// Known is a point that is known not to hold.
type Known struct {
	// Point is the claim.
	Point string `json:"point"`
	// Sample is the file of the sample to which this applies; empty means all.
	Sample string `json:"sample,omitempty"`
	// Reason says why the point does not hold.
	Reason string `json:"reason"`
	// Intermittent says that the point may hold in some runs, for example because it depends on timing.
	Intermittent bool `json:"intermittent,omitempty"`
}

const (
	// known is the label with the reason why a point is known not to hold.
	known = "known"
	// sampleLabel is the label that holds the file of the sample, where there are several.
	sampleLabel = "sample"
)

// CheckKnown returns an error about the first of the known points that does not exist.
func CheckKnown(all []Known, points []Point) error {
	claims := map[string]bool{}
	for _, p := range points {
		claims[p.Claim] = true
	}
	for _, k := range all {
		if !claims[k.Point] {
			return fmt.Errorf("there is no point %q, which is listed as known: use a claim as the report prints it, such as %q", k.Point, nearest(k.Point, points))
		}
	}
	return nil
}

// nearest returns the claim that has the most of the words of a mistyped one. Long words count more.
func nearest(typed string, points []Point) string {
	words := strings.Fields(typed)
	has := func(p Point) (count int) {
		for word := range strings.FieldsSeq(p.Claim) {
			if slices.Contains(words, word) {
				count += len(word)
			}
		}
		return count
	}
	return slices.MaxFunc(points, func(a, b Point) int { return cmp.Compare(has(a), has(b)) }).Claim
}

// OfSample returns the report with the file of its sample.
func (r Report) OfSample(file string) Report {
	for i := range r {
		r[i].Labels[sampleLabel] = Escape(file)
	}
	return r
}

// Expect compares the report with the points that are known not to hold, and marks these. It returns a sentence for each unexpected
// outcome: a point that does not hold, or was not tried, and is not known, or a known point that holds or does not apply. The points of
// the former are unlisted; their reasons are left to the author.
func (r Report) Expect(all []Known) (surprises []string, unlisted []Known) {
	failing, tried := make([]bool, len(all)), make([]bool, len(all))
	outcomes := make([]framework.Outcome, len(all)) // of those that do not fail
	for _, result := range r {
		fails := result.Outcome == framework.DoesNotHold || result.Outcome == framework.NotTried
		expected := false
		for i, k := range all {
			if k.Point != result.Feature || k.Sample != "" && result.Labels[sampleLabel] != "" && Escape(k.Sample) != result.Labels[sampleLabel] {
				continue
			}
			expected, tried[i], outcomes[i] = true, true, result.Outcome
			if fails {
				failing[i], result.Labels[known] = true, Escape(k.Reason)
			}
		}
		if fails && !expected {
			verb := map[bool]string{true: "was "}[result.Outcome == framework.NotTried]
			surprises = append(surprises, fmt.Sprintf("%q %s%s%s", result.Feature, verb, result.Outcome, about(result.Labels[sampleLabel])))
			unlisted = append(unlisted, Known{Point: result.Feature, Sample: result.Labels[sampleLabel]})
		}
	}
	for i, k := range all {
		if tried[i] && !failing[i] && !k.Intermittent {
			surprises = append(surprises, fmt.Sprintf("%q %s%s, although it is listed as known: remove it from the file", k.Point, outcomes[i], about(k.Sample)))
		}
	}
	return surprises, unlisted
}

// about says which sample something is about.
func about(file string) string {
	if file == "" {
		return ""
	}
	return " for " + Escape(filepath.Base(file))
}
