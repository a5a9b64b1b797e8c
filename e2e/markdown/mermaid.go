package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	diagrams = []string{
		"classDiagram", "erDiagram", "flowchart", "gantt", "gitGraph", "graph", "journey", "mindmap", "pie",
		"sequenceDiagram", "stateDiagram", "stateDiagram-v2", "timeline",
	}
	// opens are the words that a diagram pairs with `end`.
	opens  = []string{"subgraph", "alt", "box", "break", "critical", "loop", "opt", "par", "rect"}
	quoted = regexp.MustCompile(`"[^"]*"`)
	closes = map[rune]rune{')': '(', ']': '[', '}': '{'}
)

// mermaidFault says what is wrong with a diagram, as far as can be told without drawing it: that it is of no known kind,
// empty or cut off.
func mermaidFault(text string) string {
	var lines [][]string
	var open []rune
	ends := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "%%") {
			continue
		}
		lines = append(lines, words)
		switch {
		case words[0] == "end":
			ends--
		case slices.Contains(opens, words[0]):
			ends++
		}
		// In a sequence diagram, brackets are parts of arrows and of what is said.
		if lines[0][0] == "sequenceDiagram" {
			continue
		}
		for _, r := range quoted.ReplaceAllString(line, "") {
			switch opening, closing := closes[r]; {
			case strings.ContainsRune("([{", r):
				open = append(open, r)
			case closing && (len(open) == 0 || open[len(open)-1] != opening):
				return fmt.Sprintf("the diagram closes a %q that it has not opened: %s", r, strings.TrimSpace(line))
			case closing:
				open = open[:len(open)-1]
			}
		}
	}
	switch {
	case len(lines) == 0:
		return "the diagram is empty"
	case !slices.Contains(diagrams, lines[0][0]):
		return fmt.Sprintf("the diagram begins with %q: it must begin with one of %s", lines[0][0], strings.Join(diagrams, ", "))
	case len(lines) == 1:
		return "the diagram shows nothing"
	case len(open) > 0:
		return fmt.Sprintf("the diagram opens a %q that it does not close", open[len(open)-1])
	case ends != 0:
		return "the diagram has not one end for each part that it begins"
	}
	return ""
}
