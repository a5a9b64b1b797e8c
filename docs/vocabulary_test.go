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

// quoted is what is not prose: comments, blocks, code, the targets of links, and quotations.
var quoted = regexp.MustCompile("(?s)<!--.*?-->|```.*?```|`[^`\n]*`|\\]\\([^)]*\\)|\"[^\"\n]*\"")

// rewritten tells the pages that are held to the vocabulary from those that are yet to be rewritten, and generated tables.
func rewritten(file string) bool {
	for _, other := range []string{
		"CONTRIBUTING.md", "kind/", "docs/benchmarks.md", "docs/conformance.md",
		"docs/reference/mutants.md", "docs/reference/contract.md", "docs/reference/rights.md",
	} {
		if strings.HasPrefix(file, other) {
			return false
		}
	}
	return true
}

// The text uses the field's words.
func TestVocabulary(t *testing.T) {
	files, err := prose.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !rewritten(file) {
			continue
		}
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
