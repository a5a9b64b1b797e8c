package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// term is a row of the glossary's table: a word, what it means and the page that says more.
var term = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| \[[^\]]+\]\(([^)]+)\) \|$`)

// TestGlossary wants words in the order of a dictionary, each used on the page that the glossary sends the reader to.
func TestGlossary(t *testing.T) {
	glossary, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, row := range term.FindAllStringSubmatch(string(glossary), -1) {
		word, page := strings.ToLower(row[1]), row[2]
		words = append(words, word)
		if strings.HasPrefix(page, "https://") {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		synonyms := strings.Split(word, ", ")
		if !slices.ContainsFunc(synonyms, func(s string) bool { return strings.Contains(strings.ToLower(string(text)), s) }) {
			t.Errorf("%s does not say %q: send the reader to a page that explains it", page, word)
		}
	}
	if len(words) == 0 {
		t.Fatal("there is no table of words in glossary.md")
	}
	if !slices.IsSorted(words) {
		t.Errorf("the words are not in order: %q", words)
	}
}
