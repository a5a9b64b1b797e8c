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
	// A diagram pairs the words that begin a part of it with `end`, and brackets outside of text.
	begins  = regexp.MustCompile(`(?m)^[ \t]*(subgraph|alt|box|break|critical|loop|opt|par|rect)( |$)`)
	ends    = regexp.MustCompile(`(?m)^[ \t]*end *$`)
	ignored = regexp.MustCompile(`(?m)"[^"\n]*"|^[ \t]*%%.*`)
	pair    = regexp.MustCompile(`\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}`)
)

// mermaidFault says what is wrong with a diagram, as far as can be told without drawing it: that it is of no known kind,
// empty or cut off.
func mermaidFault(text string) string {
	kind, content, _ := strings.Cut(strings.TrimSpace(ignored.ReplaceAllString(text, "")), "\n")
	kind, _, _ = strings.Cut(kind, " ")
	unpaired := content
	for pair.MatchString(unpaired) {
		unpaired = pair.ReplaceAllString(unpaired, "")
	}
	bracket := strings.IndexAny(unpaired, "()[]{}")
	switch {
	case !slices.Contains(diagrams, kind):
		return fmt.Sprintf("the diagram begins with %q: it must begin with one of %s", kind, strings.Join(diagrams, ", "))
	case strings.TrimSpace(content) == "":
		return "the diagram shows nothing"
	case bracket >= 0 && kind != "sequenceDiagram": // which has brackets in arrows and in what is said
		return fmt.Sprintf("the diagram does not pair a %q", unpaired[bracket])
	case len(begins.FindAllString(content, -1)) != len(ends.FindAllString(content, -1)):
		return "the diagram has not one end for each part that it begins"
	}
	return ""
}
