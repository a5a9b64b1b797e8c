// Package tutorial_test keeps the chapters what they promise to be.
package tutorial_test

import (
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// chapters returns all chapters by their names.
func chapters(t *testing.T) map[string]chapter.Chapter {
	t.Helper()
	all, err := chapter.ReadAll(".")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]chapter.Chapter{}
	for _, c := range all {
		byName[c.Name] = c
	}
	return byName
}

// A chapter differs from the one that it builds on in the files that it lists, and in all of them.
func TestChaptersChangeWhatTheyList(t *testing.T) {
	all := chapters(t)
	for _, c := range all {
		if c.BuildsOn == "" {
			continue
		}
		before, err := all[c.BuildsOn].Code(".")
		if err != nil {
			t.Fatal(err)
		}
		after, err := c.Code(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, sentence := range c.Wrong(chapter.Differences(before, after)) {
			t.Error(sentence)
		}
	}
}
