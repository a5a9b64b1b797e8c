package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
	// Met reports whether the value is within the limit.
	Met bool `json:"met"`
}

// NewAim compares a value with its limit.
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

// Report is the result of a benchmark.
type Report struct {
	// Title says what was measured, and how.
	Title string `json:"title"`
	// Machine says where: numbers of different machines can't be compared.
	Machine  string    `json:"machine"`
	Measures []Measure `json:"measures"`
	Aims     []Aim     `json:"aims"`
}

// add adds a sample to the measure of that name. Measures are in the order of their first samples.
func (r *Report) add(s sample) {
	i := slices.IndexFunc(r.Measures, func(m Measure) bool { return m.Name == s.name })
	if i < 0 {
		i = len(r.Measures)
		r.Measures = append(r.Measures, Measure{Name: s.name, Unit: s.unit})
	}
	m := &r.Measures[i]
	m.Samples = append(m.Samples, s.value)
	m.Summary = summarize(m.Samples)
}

// of returns the summary of the measure of that name.
func (r *Report) of(name string) Summary {
	return r.Measures[slices.IndexFunc(r.Measures, func(m Measure) bool { return m.Name == name })].Summary
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

// quantity formats a value. A value without a unit is a ratio, whose decimals matter.
func quantity(value float64, unit string) string {
	if unit == "" {
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}
