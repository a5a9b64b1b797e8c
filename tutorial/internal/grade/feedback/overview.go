package feedback

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

//go:embed overview.html
var overviewHTML string

var overviewPage = template.Must(template.New("overview").Parse(overviewHTML))

// The columns of the histogram, and how large it is.
const (
	mostBins  = 21
	binWidth  = 40
	binHeight = 120
)

type (
	overview struct {
		Title, Due, Summary string
		Style               template.CSS
		Features            []column
		Students            []line
		Bins                []bin
		Width, Height       int
	}
	column struct {
		Name, Title string
		Hold, Of    int
	}
	line struct {
		ID, Name, Score, Note string
		Cells                 []cell
	}
	// cell is a mark, with a word for those who don't see it, and a message.
	cell struct{ Class, Mark, Word, Message string }
	bin  struct {
		Label               string
		Count               int
		X, Y, Height, Width int
		Middle              int
	}
)

// Overview returns a page about the class: who has which feature, and how the scores are distributed. It loads nothing, and needs
// no scripts.
func Overview(g gradebook.Gradebook) ([]byte, error) {
	o := overview{Title: g.Assignment.Name, Style: template.CSS(web.Style), Features: columns(g.Rows)}
	if !g.Assignment.Due.IsZero() {
		o.Due = stamp(g.Assignment.Due)
	}
	var scores []float64
	most, handedIn := g.Assignment.MaxScore, 0
	for _, row := range g.Rows {
		l := line{ID: row.Student.ID, Name: plain.Line(row.Student.Name()), Score: "none", Note: note(row)}
		if points, ok := g.Assignment.Points(row); ok {
			l.Score = fmt.Sprintf("%s of %s", gradebook.Number(points.Score), gradebook.Number(points.Max))
			scores, most = append(scores, points.Score), max(most, points.Score)
		}
		if row.Result != nil {
			handedIn++
		}
		for i := range o.Features {
			l.Cells = append(l.Cells, o.Features[i].cell(row.Result))
		}
		o.Students = append(o.Students, l)
	}
	o.Summary = fmt.Sprintf("%d of %d handed in.", handedIn, len(g.Rows))
	if len(scores) > 0 {
		o.Summary += fmt.Sprintf(" The median is %s of %s points.", gradebook.Number(median(scores)), gradebook.Number(g.Assignment.MaxScore))
	}
	o.Bins = bins(scores, most)
	o.Width, o.Height = len(o.Bins)*binWidth, binHeight+40
	var out bytes.Buffer
	err := overviewPage.Execute(&out, o)
	return out.Bytes(), err
}

// columns returns the features that any student's result has: those of the chapter by name, and then the teacher's own.
func columns(rows []gradebook.Row) []column {
	titles := map[bool]map[string]string{false: {}, true: {}}
	for _, row := range rows {
		if row.Result != nil {
			for _, test := range row.Result.Tests {
				titles[test.Extra][plain.Line(test.Name)] = plain.Line(test.Title)
			}
		}
	}
	var all []column
	for _, extra := range []bool{false, true} {
		start := len(all)
		for name, title := range titles[extra] {
			all = append(all, column{Name: name, Title: title})
		}
		slices.SortFunc(all[start:], func(a, b column) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}

// cell returns what became of the feature in a result, and counts it.
func (c *column) cell(r *grade.Result) cell {
	if r == nil || r.Status != grade.Graded {
		return cell{"", "", "no result", ""}
	}
	for _, test := range r.Tests {
		if plain.Line(test.Name) != c.Name {
			continue
		}
		message := plain.Text(strings.TrimSpace(test.Step + "\n" + test.Message))
		switch {
		case test.Status == grade.Skip:
			return cell{"faint", "–", "not tried", message}
		case test.Status == grade.Fail:
			c.Of++
			return cell{"fail", "✗", "fails", message}
		case test.Flaky:
			c.Hold, c.Of = c.Hold+1, c.Of+1
			return cell{"warn", "≈", "holds at the second try", message}
		default:
			c.Hold, c.Of = c.Hold+1, c.Of+1
			return cell{"pass", "✓", "holds", ""}
		}
	}
	return cell{"", "", "no result", ""}
}

// note is what a teacher has to know about a row beyond its points.
func note(row gradebook.Row) string {
	var all []string
	switch {
	case row.Result == nil:
		all = append(all, "nothing handed in")
	case row.Result.Status == grade.NotGradable:
		all = append(all, "not gradable: "+plain.Line(row.Result.Message))
	case row.Result.Status == grade.GraderError:
		all = append(all, "the grader failed, grade again: "+plain.Line(row.Result.Message))
	case row.Result.Isolation.Outer == "none" || row.Result.Isolation.Inner == "none":
		all = append(all, "graded without isolation")
	}
	if row.LatePenalty > 0 {
		all = append(all, "late: "+gradebook.Number(-row.LatePenalty))
	}
	if row.Adjustment != 0 {
		all = append(all, "adjusted: "+signed(row.Adjustment))
	}
	return strings.Join(all, "; ")
}

func median(scores []float64) float64 {
	sorted := slices.Sorted(slices.Values(scores))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// bins counts the scores: each whole point on its own if there are few, and tenths of the highest score otherwise.
func bins(scores []float64, most float64) []bin {
	count, width := int(math.Floor(most))+1, 1.0
	if count > mostBins {
		count, width = 11, most/10
	}
	all := make([]bin, count)
	highest := 1
	for _, score := range scores {
		i := min(int(math.Floor(score/width+1e-9)), count-1)
		all[i].Count++
		highest = max(highest, all[i].Count)
	}
	for i := range all {
		b := &all[i]
		b.Label = gradebook.Number(float64(i) * width)
		b.Height = b.Count * binHeight / highest
		b.X, b.Y, b.Width, b.Middle = i*binWidth+2, 20+binHeight-b.Height, binWidth-4, i*binWidth+binWidth/2
	}
	return all
}
