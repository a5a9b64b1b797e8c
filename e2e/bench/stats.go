package bench

import "slices"

// Summary summarizes samples.
type Summary struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// summarize returns the summary of samples, of which there is at least one. The median of an even number of samples lies in the
// middle of the two middle ones.
func summarize(samples []float64) Summary {
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return Summary{Min: sorted[0], Median: median, Max: sorted[len(sorted)-1]}
}
