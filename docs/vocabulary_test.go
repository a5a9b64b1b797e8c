package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/example/operator-testbed/docs/prose"
)

// vocabulary are words that readers stumbled over, and those that the field uses and people search for.
var vocabulary = []struct{ not, but string }{
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
}

// quoted is what is not prose: generated tables, comments, blocks, code, the targets of links, and quotations.
var quoted = regexp.MustCompile("(?s)<!-- The (?:table|matrix) .*?<!-- The end of the (?:table|matrix)\\. -->|<!--.*?-->|```.*?```|`[^`\n]*`|\\]\\([^)]*\\)|\"[^\"\n]*\"")

// Every page uses the field's words.
func TestVocabulary(t *testing.T) {
	files, err := prose.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		page, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range words(string(page)) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

func TestWords(t *testing.T) {
	for page, wrong := range map[string]bool{
		"It starts again.":          false,
		"It starts anew.":           true,
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
		if got := words(page); len(got) > 0 != wrong {
			t.Errorf("%q: %q", page, got)
		}
	}
}

// words returns what in the prose of a page should be put in other words.
func words(page string) []string {
	var wrong []string
	text := quoted.ReplaceAllString(page, "")
	for _, v := range vocabulary {
		for _, at := range regexp.MustCompile(`(?i)\b`+v.not+`\b`).FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
			wrong = append(wrong, "…"+strings.ReplaceAll(around, "\n", " ")+"…: "+v.but)
		}
	}
	return wrong
}
