package markdown

import (
	"errors"
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

// checkMermaid finds what is wrong with a diagram without drawing it: an unknown kind, no content, or a part that is cut off.
func checkMermaid(text string) error {
	kind, content, _ := strings.Cut(strings.TrimSpace(ignored.ReplaceAllString(text, "")), "\n")
	kind, _, _ = strings.Cut(kind, " ")
	unpaired := content
	for pair.MatchString(unpaired) {
		unpaired = pair.ReplaceAllString(unpaired, "")
	}
	bracket := strings.IndexAny(unpaired, "()[]{}")
	switch {
	case !slices.Contains(diagrams, kind):
		return fmt.Errorf("the diagram begins with %q: it must begin with one of %s", kind, strings.Join(diagrams, ", "))
	case strings.TrimSpace(content) == "":
		return errors.New("the diagram shows nothing")
	case bracket >= 0 && kind != "sequenceDiagram": // which has brackets in arrows and in what is said
		return fmt.Errorf("the diagram does not pair a %q", unpaired[bracket])
	case len(begins.FindAllString(content, -1)) != len(ends.FindAllString(content, -1)):
		return errors.New("the diagram has not one end for each part that it begins")
	}
	return nil
}
