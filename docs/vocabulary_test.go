package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/markdown"
)

// wording is a regular expression for what readers stumbled over, and what the field uses and people search for.
type wording struct{ not, but string }

// rule is a compiled wording.
type rule struct {
	not *regexp.Regexp
	but string
}

// rules compiles wordings. Each matches whole words, also across lines.
func rules(wordings []wording) []rule {
	var compiled []rule
	for _, w := range wordings {
		compiled = append(compiled, rule{regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(w.not, " ", `\s+`) + `)\b`), w.but})
	}
	return compiled
}

// vocabulary is what every text is checked for.
var vocabulary = rules([]wording{
	{`for ever`, "forever, indefinitely"},
	{`anew`, "again"},
	{`mend(s|ed|ing)?`, "fix, repair, recover"},
	{`(is|are|was|were|be) told( of)?`, "report, print, record, show"},
	{`tells of`, "reports"},
	{`rights`, "permissions"},
	{`strangers?('s)?`, "foreign, or: that the operator does not own"},
	{`the API server's words`, "the API server's error message"},
	{`a name that is none`, "an unknown name"},
	{`(?-i:Who (asks|wants|deletes|changes|renews|holds|runs|may))`, "a sentence with a subject: you, a user, whoever"},
})

// quoted is what is not prose: generated tables, comments, blocks, code, the targets of links, and quotations.
var quoted = regexp.MustCompile("(?s)<!-- The (?:table|matrix) .*?<!-- The end of the (?:table|matrix)\\. -->|<!--.*?-->|```.*?```|`[^`\n]*`|\\]\\([^)]*\\)|\"[^\"\n]*\"")

// Every page uses the field's words.
func TestVocabulary(t *testing.T) {
	files, err := markdown.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, found := range words(read(t, file), vocabulary) {
			t.Errorf("%s:%d: %s", file, found.line, found.text)
		}
	}
}

func TestWords(t *testing.T) {
	for page, wrong := range map[string]bool{
		"It starts again.":          false,
		"It starts anew.":           true,
		"It goes on for\never.":     true,
		"Mend it.":                  true,
		"Who asks is told.":         true,
		"Everybody who asks knows.": false,
		"A commendable amendment.":  false,
		"The flag `--anew` and\n\n```text\nfor ever\n```\n": false,
		"He said \"for ever\".":                             false,
		"See [this](for-ever.md).":                          false,
		"<!-- The table is generated from x. -->\n\n| rights |\n|---|\n\n<!-- The end of the table. -->\n": false,
		"<!-- The table is generated from x. -->\n\n<!-- The end of the table. -->\n\nNo rights.\n":        true,
	} {
		if got := words(page, vocabulary); len(got) > 0 != wrong {
			t.Errorf("%q: %v", page, got)
		}
	}
}

// finding is an expression that should be put in other words.
type finding struct {
	line int
	text string
}

// words returns what in a text should be put in other words. It ignores what is quoted.
func words(text string, vocabulary []rule) []finding {
	text = quoted.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	var found []finding
	for _, r := range vocabulary {
		for _, at := range r.not.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
			found = append(found, finding{
				line: 1 + strings.Count(text[:at[0]], "\n"),
				text: "…" + strings.Join(strings.Fields(around), " ") + "…: " + r.but,
			})
		}
	}
	return found
}
