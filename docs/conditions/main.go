// Command conditions draws how the conditions of an object change over time, in SVG. It reads what kubectl get --watch --output=json
// prints, while it is printed, and lines such as {"mark": "the port changes"} between its objects.
// An empty object at the end says when that was.
//
//	docs/conditions/record | go run ./docs/conditions >docs/conditions.svg
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	history, err := read(os.Stdin, time.Now)
	if err == nil {
		err = draw(os.Stdout, history)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conditions:", err)
		os.Exit(1)
	}
}

// version is one version of the object, or a mark.
type version struct {
	Mark   string `json:"mark"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// span is a time in which a condition was True for one reason.
type span struct {
	kind, reason string
	from, to     time.Duration
}

// mark is something that happened.
type mark struct {
	what string
	at   time.Duration
}

// timeline is what is drawn. Its times count from the first mark.
type timeline struct {
	kinds []string // the condition types, in the order of the status
	spans []span
	marks []mark
	end   time.Duration
}

// read reads versions and marks, each of which happened when it arrives.
func read(r io.Reader, now func() time.Time) (timeline, error) {
	var (
		t     timeline
		start time.Time
		open  = map[string]span{}
	)
	decoder := json.NewDecoder(r)
	for {
		var v version
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return timeline{}, fmt.Errorf("read a version: %w", err)
		}
		if start.IsZero() {
			start = now()
		}
		t.end = now().Sub(start)
		if v.Mark != "" {
			t.marks = append(t.marks, mark{v.Mark, t.end})
			continue
		}
		for _, c := range v.Status.Conditions {
			if !slices.Contains(t.kinds, c.Type) {
				t.kinds = append(t.kinds, c.Type)
			}
			current, isOpen := open[c.Type]
			if isOpen && (c.Status != "True" || c.Reason != current.reason) {
				current.to = t.end
				t.spans = append(t.spans, current)
				delete(open, c.Type)
				isOpen = false
			}
			if !isOpen && c.Status == "True" {
				open[c.Type] = span{kind: c.Type, reason: c.Reason, from: t.end}
			}
		}
	}
	for _, kind := range t.kinds {
		if last, isOpen := open[kind]; isOpen {
			last.to = t.end
			t.spans = append(t.spans, last)
		}
	}
	if len(t.spans) == 0 || t.end == 0 {
		return timeline{}, errors.New("no condition was ever True: pipe the output of docs/conditions/record into this command")
	}
	return t, nil
}

// The picture is narrow enough for a phone, where it is shown at three quarters of its size.
const (
	width, left, right = 480, 104, 14
	top, row, bar      = 42, 34, 22
	characterWidth     = 6.4
)

// style has colors for both schemes. A browser uses the page's scheme, and the background makes the picture readable if it does not.
const style = `<style>
.back { fill: #ffffff; } .text, .label { fill: #202124; } .quiet { fill: #5f6368; } .line { stroke: #dadce0; } .mark { stroke: #9aa0a6; }
.Available { fill: #1e8e3e; } .Progressing { fill: #1a73e8; } .Degraded { fill: #d93025; } .in { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.back { fill: #202124; } .text, .label { fill: #e8eaed; } .quiet { fill: #bdc1c6; } .line { stroke: #3c4043; } .mark { stroke: #80868b; }
.Available { fill: #81c995; } .Progressing { fill: #8ab4f8; } .Degraded { fill: #f28b82; } .in { fill: #202124; }
}
</style>
`

// draw writes the picture.
func draw(w io.Writer, t timeline) error {
	var b strings.Builder
	axis := top + row*len(t.kinds)
	legend := axis + 44
	height := legend + 20*len(t.marks)
	x := func(at time.Duration) float64 {
		return left + float64(width-left-right)*at.Seconds()/t.end.Seconds()
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width, height, height)
	fmt.Fprintf(&b, "<title>The conditions of a Memcached over time</title>\n%s", style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	for i, kind := range t.kinds {
		y := top + row*i
		fmt.Fprintf(&b, `<text class="label" x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-10, y+row/2+5, html.EscapeString(kind))
		fmt.Fprintf(&b, `<line class="line" x1="%d" x2="%d" y1="%d" y2="%[3]d"/>`+"\n", left, width-right, y+row/2)
	}
	for i, m := range t.marks {
		at := x(m.at)
		fmt.Fprintf(&b, `<line class="mark" x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d" stroke-dasharray="3 3"/>`+"\n", at, top-8, axis)
		fmt.Fprintf(&b, `<text class="text" x="%.1f" y="%d" text-anchor="middle" font-weight="bold">%d</text>`+"\n", at, top-14, i+1)
		fmt.Fprintf(&b, `<text class="text" x="14" y="%d"><tspan font-weight="bold">%d</tspan> %s</text>`+"\n", legend+20*i, i+1, html.EscapeString(m.what))
	}
	for _, s := range t.spans {
		from, to, y := x(s.from), x(s.to), top+row*slices.Index(t.kinds, s.kind)+(row-bar)/2
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="3"><title>%s</title></rect>`+"\n",
			html.EscapeString(s.kind), from, y, max(to-from, 2), bar, html.EscapeString(s.reason))
		if float64(len(s.reason))*characterWidth+8 < to-from {
			fmt.Fprintf(&b, `<text class="in" x="%.1f" y="%d" text-anchor="middle" font-size="11">%s</text>`+"\n", (from+to)/2, y+bar/2+4, html.EscapeString(s.reason))
		}
	}
	for _, second := range ticks(t.end) {
		fmt.Fprintf(&b, `<text class="quiet" x="%.1f" y="%d" text-anchor="middle" font-size="11">%d s</text>`+"\n", x(second), axis+16, int(second.Seconds()))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// ticks returns the times at which the axis has a number: about five of them.
func ticks(end time.Duration) []time.Duration {
	step := time.Second
	for _, seconds := range []int{1, 2, 5, 10, 20, 30, 60, 120} {
		if step = time.Duration(seconds) * time.Second; end/step <= 6 {
			break
		}
	}
	var all []time.Duration
	for at := time.Duration(0); at <= end; at += step {
		all = append(all, at)
	}
	return all
}
