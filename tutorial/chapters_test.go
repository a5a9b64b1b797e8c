// Package tutorial_test keeps the chapters what they promise to be.
package tutorial_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
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

// read returns the text of a file, by its path in the tutorial's directory.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A chapter differs from the one that it builds on in the files that it lists, and in all of them.
// The CustomResourceDefinition of an operator that embeds a pod template is larger than the annotation of a client-side apply may be.
func TestMakefilesApplyOnTheServer(t *testing.T) {
	makefiles, err := filepath.Glob("[0-9][0-9]-*/Makefile")
	if err != nil || len(makefiles) < 9 {
		t.Fatalf("found %q: %v", makefiles, err)
	}
	for _, makefile := range makefiles {
		content, err := os.ReadFile(makefile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, "$(KUBECTL) apply") && !strings.Contains(line, "$(KUBECTL) apply --server-side --force-conflicts ") {
				t.Errorf("%s applies on the client: %s", makefile, line)
			}
		}
	}
}

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

// The text of a chapter whose changes are in steps has a section for each, under its title.
func TestStepsHaveSections(t *testing.T) {
	sections := 0
	for _, c := range chapters(t) {
		text := read(t, c.Name+"/README.md")
		for i, step := range c.Steps {
			sections++
			if heading := fmt.Sprintf("\n## Step %d: %s\n", i+1, step.Title); !strings.Contains(text, heading) {
				t.Errorf("%s/README.md has no section %q", c.Name, strings.TrimSpace(heading))
			}
		}
	}
	if sections == 0 {
		t.Error("no chapter has steps, expected them in the tour of the finished operator")
	}
}

// A chapter's text starts with its title.
func TestChaptersStartWithTheirTitle(t *testing.T) {
	for _, c := range chapters(t) {
		text := read(t, c.Name+"/README.md")
		heading := fmt.Sprintf("# %s\n", c.Heading())
		if !strings.HasPrefix(text, heading) {
			t.Errorf("%s/README.md does not begin with %q", c.Name, heading)
		}
	}
}

// A chapter's suite is shown to assert something by three mutants at least: of its operator, or of its definition.
func TestChaptersHaveMutants(t *testing.T) {
	without := map[string]string{
		"00-control-loop": "it brings nothing to break",
		"19-finished":     "its operator is the finished one, whose mutants are in e2e/memcached",
	}
	for name := range chapters(t) {
		mutants, err := filepath.Glob(filepath.Join(name, "test", "e2e", "mutants", "*.patch"))
		if err != nil {
			t.Fatal(err)
		}
		if without[name] == "" && len(mutants) < 3 {
			t.Errorf("%s has %d mutants in test/e2e/mutants, expected at least three", name, len(mutants))
		}
	}
}

// Where a chapter begins with the operator of another one, it lists what its suite finds wrong with that one. Gaps of its own say it
// themselves.
func TestChaptersSayWhatIsToDo(t *testing.T) {
	for _, c := range chapters(t) {
		_, hasGaps, err := exercises.Gaps("..", c)
		if err != nil {
			t.Fatal(err)
		}
		if !hasGaps && len(c.Fails) == 0 {
			t.Errorf("%s lists no feature under fails in its %s: run make start STAGE=%[1]s DIR=mine and make check DIR=mine, and list some that fail, each with a part of what it says", c.Name, chapter.File)
		} else if hasGaps && len(c.Fails) > 0 {
			t.Errorf("%s begins with gaps, and lists %d features under fails in its %s: leave them out", c.Name, len(c.Fails), chapter.File)
		}
	}
}

// Each feature of a chapter's suite has a claim and a hint.
func TestFeaturesAreDescribed(t *testing.T) {
	for _, c := range chapters(t) {
		if c.Suite != "" { // it has the features of the finished operator, which say for themselves what they are
			if len(c.Features) > 0 {
				t.Errorf("%s describes features, but %s is not its own suite", c.Name, c.Suite)
			}
			continue
		}
		names, err := check.Features(filepath.Join(c.Name, "test", "e2e"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if c.Features[name].Claim == "" {
				t.Errorf("%s has no claim and no hint for %s under features in its %s", c.Name, name, chapter.File)
			}
		}
		for name, feature := range c.Features {
			if !slices.Contains(names, name) {
				t.Errorf("%s describes %s in its %s, which its suite does not have", c.Name, name, chapter.File)
			}
			if strings.HasSuffix(feature.Claim, ".") || !strings.HasSuffix(feature.Hint, ".") && !strings.HasSuffix(feature.Hint, "?") {
				t.Errorf("%s, %s: a claim has no full stop, and a hint is made of sentences", c.Name, name)
			}
		}
	}
}

// Every chapter counts for a class: it has a copy to start from, and tasks with hints where that copy has gaps.
func TestChaptersHaveSomethingToStart(t *testing.T) {
	for _, c := range chapters(t) {
		_, hasGaps, err := exercises.Gaps("..", c)
		if err != nil {
			t.Fatal(err)
		}
		if !hasGaps && c.BuildsOn == "" {
			t.Errorf("%s has nothing to start from: it builds on no chapter, and has no start/todo.patch", c.Name)
		}
		if hasGaps && len(c.Tasks) == 0 {
			t.Errorf("%s has gaps and no tasks in its %s: give one for each gap", c.Name, chapter.File)
		}
	}
}

// Each exercise of a chapter has its hints.
func TestExercisesHaveHints(t *testing.T) {
	for _, c := range chapters(t) {
		exercises, err := c.Exercises(".")
		if err != nil {
			t.Fatal(err)
		}
		least := 3
		if c.Number() == "" { // it is short, and leads to the others
			least = 2
		}
		if len(exercises) < least {
			t.Errorf("%s has %d exercises, expected at least %d", c.Name, len(exercises), least)
		}
		if len(c.Hints) != len(exercises) {
			t.Errorf("%s has %d exercises, and hints for %d in its %s", c.Name, len(exercises), len(c.Hints), chapter.File)
		}
	}
}
