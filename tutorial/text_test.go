package tutorial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/docs/prose"
)

// TestText runs the commands of the chapters, as their readers type them. What else can be said of their text is checked
// with that of the other pages, in docs.
func TestText(t *testing.T) {
	files, err := prose.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !strings.HasPrefix(file, "tutorial/") })
	prose.Run(t, prose.Options{Root: "..", Files: files})
}
