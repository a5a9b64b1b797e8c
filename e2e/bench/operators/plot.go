package operators

import (
	"fmt"
	"html/template"
	"io"
	"slices"
)

// The measures of the picture, in its own units.
const (
	panelWidth, panelHeight = 300, 220
	margin                  = 60
	gap                     = 70
)

// panel is one of the picture's charts: bars of every subject for one figure, with the largest number of objects. Its origin is
// where its axis begins.
type panel struct {
	X     int
	Title string
	Bars  []bar
	Limit *bar
}

// bar stands on the axis, with its middle at X.
type bar struct {
	Label, Value, Color string
	X, Width, Height    float64
}

var colors = []string{"#9aa0a6", "#d98e04", "#1a73e8"}

// WritePlot draws the results with the largest number of objects as an SVG: what an operator costs beside the floor.
func WritePlot(w io.Writer, results []Result, title string) error {
	results, _ = byReadiness(results)
	most := slices.MaxFunc(results, func(a, b Result) int { return a.Objects - b.Objects }).Objects
	shown := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Objects != most })
	panels := []panel{
		newPanel(fmt.Sprintf("s until all %d are Available", most), shown, true, 0, func(r Result) float64 { return r.Available.Seconds() }),
		newPanel("writes per object until then", shown, false, writesMeanLimit, func(r Result) float64 { return r.WritesMean }),
		newPanel("writes after a restart", shown, false, 0, func(r Result) float64 { return float64(r.RestartWrites) }),
		newPanel("requests in conflict (409)", shown, false, 0, func(r Result) float64 { return float64(r.Conflicts) }),
	}
	for i := range panels {
		panels[i].X = margin + i*(panelWidth+gap)
	}
	return picture.Execute(w, map[string]any{
		"Title": title, "Panels": panels,
		"Width": 2*margin + len(panels)*panelWidth + (len(panels)-1)*gap, "Height": panelHeight + 2*margin,
		"Base": margin + panelHeight, "PanelWidth": panelWidth,
	})
}

// newPanel makes the chart of a figure, which the floor may not have, with a line at the limit if there is one.
func newPanel(title string, results []Result, ofFloor bool, limit float64, figureOf func(Result) float64) panel {
	highest := limit
	for _, r := range results {
		highest = max(highest, figureOf(r))
	}
	if highest == 0 {
		highest = 1
	}
	p := panel{Title: title}
	slot := float64(panelWidth) / float64(len(results))
	for i, r := range results {
		b := bar{Label: r.Subject, Color: colors[i%len(colors)], X: (float64(i) + 0.5) * slot, Width: 0.7 * slot}
		if ofFloor || r.operator() {
			b.Value, b.Height = figure(figureOf(r), ""), figureOf(r)*panelHeight/highest
		}
		p.Bars = append(p.Bars, b)
	}
	if limit > 0 {
		p.Limit = &bar{Label: "aim: at most " + figure(limit, ""), Height: limit * panelHeight / highest}
	}
	return p
}

// picture moves the origin into each chart, so that nothing has to be computed in it.
var picture = template.Must(template.New("plot").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" font-family="sans-serif" font-size="14" fill="#202124">
<title>{{.Title}}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
{{- $root := . }}
{{- range .Panels }}
<g transform="translate({{.X}} {{$root.Base}})">
<text y="-{{$root.Base}}" dy="30" font-weight="bold">{{.Title}}</text>
<line x2="{{$root.PanelWidth}}" stroke="#202124"/>
{{- range .Bars }}
<line x1="{{printf "%.1f" .X}}" x2="{{printf "%.1f" .X}}" y2="{{printf "-%.1f" .Height}}" stroke="{{.Color}}" stroke-width="{{printf "%.1f" .Width}}"/>
{{- if .Value }}
<text x="{{printf "%.1f" .X}}" y="{{printf "-%.1f" .Height}}" dy="-6" text-anchor="middle">{{.Value}}</text>
{{- end }}
<text x="{{printf "%.1f" .X}}" y="20" text-anchor="middle">{{.Label}}</text>
{{- end }}
{{- with .Limit }}
<line x2="{{$root.PanelWidth}}" y1="{{printf "-%.1f" .Height}}" y2="{{printf "-%.1f" .Height}}" stroke="#c5221f" stroke-dasharray="6 4"/>
<text y="{{printf "-%.1f" .Height}}" dy="-6" fill="#c5221f">{{.Label}}</text>
{{- end }}
</g>
{{- end }}
</svg>
`))
