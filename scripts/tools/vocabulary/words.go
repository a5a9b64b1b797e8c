package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var wordsYAML []byte

// words are the rules of words.yaml.
type words struct {
	Everywhere []rule
	Code       []rule
}

// rule is a phrase not to write, and what to write instead.
type rule struct {
	Not, Except phrase
	Write       string
}

// phrase is a regular expression of whole words.
type phrase struct{ *regexp.Regexp }

// UnmarshalYAML compiles a phrase.
func (p *phrase) UnmarshalYAML(node *yaml.Node) (err error) {
	p.Regexp, err = regexp.Compile(`(?i)\b(?:` + strings.ReplaceAll(node.Value, " ", `\s+`) + `)\b`)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return nil
}

// readWords parses a list of rules.
func readWords(text []byte) (w words, err error) {
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&w); err != nil {
		return w, fmt.Errorf("read words.yaml: %w", err)
	}
	return w, nil
}

// inCode returns the rules for everything other than Markdown.
func (w words) inCode() []rule {
	return slices.Concat(w.Everywhere, w.Code)
}

// passage is prose that starts on a line of a file.
type passage struct {
	line int
	text string
}

// finding is a phrase that should be put in other words.
type finding struct {
	line          int
	phrase, write string
}

// check returns what in the passage breaks a rule.
func (p passage) check(rules []rule) []finding {
	var found []finding
	for _, r := range rules {
		for _, at := range r.Not.FindAllStringIndex(p.text, -1) {
			phrase := strings.Join(strings.Fields(p.text[at[0]:at[1]]), " ")
			if r.Except.Regexp != nil && r.Except.FindString(phrase) == phrase {
				continue
			}
			found = append(found, finding{p.line + strings.Count(p.text[:at[0]], "\n"), phrase, r.Write})
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.line - b.line })
	return found
}
