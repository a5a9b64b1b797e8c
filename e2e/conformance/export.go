package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/junit"
)

// formats are the functions that render a report for a file, by the extension of its name.
var formats = map[string]func(Report) ([]byte, error){
	".html":  Report.HTML,
	".jsonl": Report.JSONLines,
	".md":    func(r Report) ([]byte, error) { return []byte(r.Markdown()), nil },
	".txt":   func(r Report) ([]byte, error) { return []byte(r.Text()), nil },
	".xml":   Report.JUnit,
}

// CheckFormat returns an error if the extension of a file's name does not select a format.
func CheckFormat(file string) error {
	if _, known := formats[filepath.Ext(file)]; !known {
		return fmt.Errorf("a report can't be written to %s: its name has to end in .html, .jsonl (JSON lines), .md, .txt or .xml (JUnit)", file)
	}
	return nil
}

// Render renders the report in the format that the extension of a file's name selects.
func (r Report) Render(file string) ([]byte, error) {
	if err := CheckFormat(file); err != nil {
		return nil, err
	}
	return formats[filepath.Ext(file)](r)
}

// JSONLines renders each point as a line of JSON.
func (r Report) JSONLines() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for _, result := range r {
		if err := encoder.Encode(result); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// JUnit renders each point as a test case. A point that does not apply, or is known not to hold, becomes a skipped test. One that was not
// tried becomes a test with an error.
func (r Report) JUnit() ([]byte, error) {
	suite := junit.Suite{Name: "conformance"}
	for _, result := range r {
		c := junit.Case{Class: strings.TrimSuffix("conformance."+result.Labels[sampleLabel], "."), Name: result.Feature}
		message := &junit.Message{Message: string(result.Outcome), Text: result.Message + result.Reason}
		switch {
		case result.Outcome == framework.Holds:
		case result.Labels[known] != "":
			message.Message += ", as is known: " + result.Labels[known]
			c.Skipped = message
		case result.Outcome == framework.DoesNotApply:
			c.Skipped = message
		case result.Outcome == framework.NotTried:
			c.Error = message
		default:
			c.Failure = message
		}
		suite.Add(c)
	}
	return suite.Encode()
}

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// line is a point as the page shows it.
type line struct {
	Number, Claim, Class, Outcome, Known string
	Details                              []string
}

// HTML renders the report as a page that refers to no other file.
func (r Report) HTML() ([]byte, error) {
	type part struct {
		Sample string
		Lines  []line
	}
	var parts []part
	for _, result := range r {
		sample := result.Labels[sampleLabel]
		i := slices.IndexFunc(parts, func(p part) bool { return p.Sample == sample })
		if i < 0 {
			i = len(parts)
			parts = append(parts, part{Sample: sample})
		}
		l := line{Number: result.Labels[contract], Claim: result.Feature, Class: "holds", Outcome: string(result.Outcome), Known: result.Labels[known]}
		switch {
		case result.Outcome == framework.DoesNotApply:
			l.Class = "aside"
		case result.Outcome != framework.Holds && l.Known != "":
			l.Class = "known"
		case result.Outcome != framework.Holds:
			l.Class = "fails"
		}
		for text := range strings.Lines(result.Message + result.Reason) {
			l.Details = append(l.Details, shorten(strings.TrimSuffix(text, "\n")))
		}
		parts[i].Lines = append(parts[i].Lines, l)
	}
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		Summary string
		Parts   []part
	}{r.Summary(), parts})
	return b.Bytes(), err
}

// Summary returns how many of the points that apply hold.
func (r Report) Summary() string {
	holding := r.Count(framework.Holds)
	summary := fmt.Sprintf("%d of %d points hold", holding, holding+r.Count(framework.DoesNotHold)+r.Count(framework.NotTried))
	expected := 0
	for _, result := range r {
		if result.Labels[known] != "" {
			expected++
		}
	}
	if expected > 0 {
		summary += fmt.Sprintf(" (known not to: %d)", expected)
	}
	return summary
}
