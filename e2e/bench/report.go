package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Measure is a quantity that was sampled in every run.
type Measure struct {
	// Name says what was measured.
	Name string `json:"name"`
	// Unit is the unit of the samples.
	Unit string `json:"unit"`
	// Samples are in the order in which they were taken.
	Samples []float64 `json:"samples"`
	Summary
}

// newMeasure summarizes samples, of which there is at least one.
func newMeasure(name, unit string, samples []float64) Measure {
	return Measure{Name: name, Unit: unit, Samples: samples, Summary: summarize(samples)}
}

// Aim is a limit that a value should not exceed.
type Aim struct {
	// Name says what the value is.
	Name string `json:"name"`
	// Value was measured.
	Value float64 `json:"value"`
	// Limit is the most that the value should be.
	Limit float64 `json:"limit"`
	// Unit is the unit of both; a ratio has none.
	Unit string `json:"unit,omitempty"`
	// Met says that the value is within the limit.
	Met bool `json:"met"`
}

// NewAim holds a value against its limit.
func NewAim(name string, value, limit float64, unit string) Aim {
	return Aim{Name: name, Value: value, Limit: limit, Unit: unit, Met: value <= limit}
}

// Verdict says whether the aim was met, or by how much it was missed.
func (a Aim) Verdict() string {
	if a.Met {
		return "met"
	}
	return fmt.Sprintf("missed by %s (%.0f %%)", quantity(a.Value-a.Limit, a.Unit), 100*(a.Value-a.Limit)/a.Limit)
}

// Report is what a benchmark found.
type Report struct {
	// Title says what was measured, and how.
	Title string `json:"title"`
	// Machine says where: numbers of two machines don't compare.
	Machine  string    `json:"machine"`
	Measures []Measure `json:"measures"`
	Aims     []Aim     `json:"aims"`
}

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s\n\n", r.Title, r.Machine)
	width := 0
	for _, m := range r.Measures {
		width = max(width, len(m.Name))
	}
	fmt.Fprintf(w, "%-*s  %7s  %7s  %7s\n", width, "", "min", "median", "max")
	for _, m := range r.Measures {
		fmt.Fprintf(w, "%-*s  %7.0f  %7.0f  %7.0f  %s\n", width, m.Name, m.Min, m.Median, m.Max, m.Unit)
	}
	fmt.Fprintln(w)
	aims := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, a := range r.Aims {
		fmt.Fprintf(aims, "%s\t%s\taim: at most %s\t%s\n", a.Name, quantity(a.Value, a.Unit), quantity(a.Limit, a.Unit), a.Verdict())
	}
	return aims.Flush()
}

// WriteJSON writes the report for programs.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// quantity is a value as people write it. A value without a unit is a ratio, of which the digits behind the point matter.
func quantity(value float64, unit string) string {
	if unit == "" {
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}
