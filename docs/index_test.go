package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIndex requires that the index of the documentation links to each page beside it and to each page of the reference, and that it
// fits on one screen.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range append(glob(t, "docs/*.md"), glob(t, "docs/reference/*.md")...) {
		link, err := filepath.Rel("docs", page)
		if err != nil {
			t.Fatal(err)
		}
		if link != "README.md" && !strings.Contains(index, "]("+filepath.ToSlash(link)+")") {
			t.Errorf("docs/README.md does not link to %s: add the question that the page answers", link)
		}
	}
	if lines := strings.Count(index, "\n"); lines > 40 {
		t.Errorf("docs/README.md has %d lines, expected at most 40, which fit on one screen", lines)
	}
}
