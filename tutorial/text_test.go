package tutorial_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/markdown"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// built are executables that a page need not link again.
var built = []string{"bin/testbed"}

// linked are the suites, which make check builds.
var linked = []string{"bin/suites/*.test"}

// TestChapterCommands runs the commands of the chapters, as their readers type them. What else can be said of their text is checked
// with that of the other pages, in docs.
func TestChapterCommands(t *testing.T) {
	tier.All(t)
	typeCommands(t)
}

func typeCommands(t *testing.T) {
	t.Helper()
	markdown.Run(t, markdown.Options{Root: "..", Files: texts(t), Built: built, Linked: linked, Missing: sdk.Missing("..")})
}

// TestTextOnKind runs the commands of the chapters that have blocks for kind: all commands of those chapters.
func TestTextOnKind(t *testing.T) {
	tier.E2E(t)
	tier.NeedsKind(t)
	typeCommands(t)
}

// TestTextInOrder runs them in one directory and the same terminals, one chapter after the other, as somebody does who reads them
// all. That takes minutes, and some of them have blocks for kind.
func TestTextInOrder(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	chapters := slices.DeleteFunc(texts(t), func(file string) bool { return file == "tutorial/README.md" })
	all, err := chapter.ReadAll(".")
	if err != nil {
		t.Fatal(err)
	}
	place := func(file string) int {
		return slices.IndexFunc(all, func(c chapter.Chapter) bool { return strings.HasPrefix(file, "tutorial/"+c.Name+"/") })
	}
	slices.SortFunc(chapters, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	markdown.Run(t, markdown.Options{Root: "..", Files: chapters, Built: built, Linked: linked, Missing: sdk.Missing(".."), InOrder: true})
}

// texts are the files of the tutorial's text.
func texts(t *testing.T) []string {
	t.Helper()
	files, err := markdown.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return !strings.HasPrefix(file, "tutorial/") })
}
