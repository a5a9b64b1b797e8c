package operators

import (
	"fmt"
	"html/template"
	"io"
	"math"
)

// The measures of the picture, in its own units.
const (
	panelWidth, panelHeight = 300, 220
	margin                  = 60
	gap                     = 70
)

// panel is one of the picture's charts: bars of every subject for one figure, with the largest number of objects.
type panel struct {
	Title string
	X     int
	Bars  []bar
	Lines []line
}

type bar struct {
	Label, Value, Color string
	X, Y, Width, Height float64
}

// line is a limit.
type line struct {
	Y    float64
	Text string
}

var colors = []string{"#9aa0a6", "#d98e04", "#1a73e8"}

// WritePlot draws the results with the largest number of objects as an SVG: what an operator costs beside the floor.
func WritePlot(w io.Writer, results []Result, title string) error {
	most := 0
	for _, r := range results {
		most = max(most, r.Objects)
	}
	var shown []Result
	for _, r := range results {
		if r.Objects == most {
			shown = append(shown, r)
		}
	}
	panels := []panel{
		newPanel(0, fmt.Sprintf("s until all %d are Available", most), shown, func(r Result) (float64, bool) { return r.Available.Seconds(), true }, 0),
		newPanel(1, "writes per object until then", shown, func(r Result) (float64, bool) { return r.WritesMean, r.operator() }, writesMeanLimit),
		newPanel(2, "writes after a restart", shown, func(r Result) (float64, bool) { return float64(r.RestartWrites), r.operator() }, 0),
		newPanel(3, "requests in conflict (409)", shown, func(r Result) (float64, bool) { return float64(r.Conflicts), r.operator() }, 0),
	}
	return picture.Execute(w, map[string]any{
		"Title": title, "Panels": panels,
		"Width": 2*margin + len(panels)*panelWidth + (len(panels)-1)*gap, "Height": panelHeight + 2*margin,
		"Base": margin + panelHeight, "PanelWidth": panelWidth, "Margin": margin,
	})
}

func newPanel(index int, title string, results []Result, value func(Result) (float64, bool), limit float64) panel {
	p := panel{Title: title, X: margin + index*(panelWidth+gap)}
	highest := limit
	for _, r := range results {
		if v, has := value(r); has {
			highest = math.Max(highest, v)
		}
	}
	if highest == 0 {
		highest = 1
	}
	scale := panelHeight / highest
	slot := float64(panelWidth) / float64(len(results))
	for i, r := range results {
		v, has := value(r)
		b := bar{Label: r.Subject, Color: colors[i%len(colors)], X: float64(p.X) + (float64(i)+0.15)*slot, Width: 0.7 * slot}
		if has {
			b.Value, b.Height = figure(v, ""), v*scale
		}
		b.Y = margin + panelHeight - b.Height
		p.Bars = append(p.Bars, b)
	}
	if limit > 0 {
		p.Lines = append(p.Lines, line{Y: margin + panelHeight - limit*scale, Text: "aim: at most " + figure(limit, "")})
	}
	return p
}

var picture = template.Must(template.New("plot").Funcs(template.FuncMap{
	"add": func(a, b any) string { return fmt.Sprintf("%.1f", number(a)+number(b)) },
	"mid": func(x, width float64) string { return fmt.Sprintf("%.1f", x+width/2) },
	"f":   func(v float64) string { return fmt.Sprintf("%.1f", v) },
}).Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" font-family="sans-serif" font-size="14" fill="#202124">
<title>{{.Title}}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
{{- $root := . }}
{{- range .Panels }}
{{- $panel := . }}
<text x="{{.X}}" y="30" font-weight="bold">{{.Title}}</text>
<line x1="{{.X}}" x2="{{add .X $root.PanelWidth}}" y1="{{$root.Base}}" y2="{{$root.Base}}" stroke="#202124"/>
{{- range .Bars }}
<rect x="{{f .X}}" y="{{f .Y}}" width="{{f .Width}}" height="{{f .Height}}" fill="{{.Color}}"/>
{{- if .Value }}
<text x="{{mid .X .Width}}" y="{{add .Y -6}}" text-anchor="middle">{{.Value}}</text>
{{- end }}
<text x="{{mid .X .Width}}" y="{{add $root.Base 20}}" text-anchor="middle">{{.Label}}</text>
{{- end }}
{{- range .Lines }}
<line x1="{{$panel.X}}" x2="{{add $panel.X $root.PanelWidth}}" y1="{{f .Y}}" y2="{{f .Y}}" stroke="#c5221f" stroke-dasharray="6 4"/>
<text x="{{$panel.X}}" y="{{add .Y -6}}" fill="#c5221f">{{.Text}}</text>
{{- end }}
{{- end }}
</svg>
`))

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	default:
		panic(fmt.Sprintf("%T is no number", v))
	}
}
