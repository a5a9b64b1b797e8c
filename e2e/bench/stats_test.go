package bench

import "testing"

func TestSummarize(t *testing.T) {
	for name, test := range map[string]struct {
		samples []float64
		want    Summary
	}{
		"one":            {[]float64{7}, Summary{Min: 7, Median: 7, Max: 7}},
		"odd, unsorted":  {[]float64{9, 1, 4}, Summary{Min: 1, Median: 4, Max: 9}},
		"even, unsorted": {[]float64{10, 1, 2, 4}, Summary{Min: 1, Median: 3, Max: 10}},
		"an outlier":     {[]float64{2, 2, 3, 3, 900}, Summary{Min: 2, Median: 3, Max: 900}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := summarize(test.samples); got != test.want {
				t.Errorf("summarize(%v) = %+v, want %+v", test.samples, got, test.want)
			}
		})
	}
}

func TestSummarizeLeavesTheSamplesInTheirOrder(t *testing.T) {
	samples := []float64{3, 1, 2}
	summarize(samples)
	if samples[0] != 3 || samples[1] != 1 || samples[2] != 2 {
		t.Errorf("the samples are now %v", samples)
	}
}
