package docs_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// explain is an exercise that asks for an explanation.
	explain = regexp.MustCompile(`(?m)^(\d+)\. \*\*Explain it\.\*\*`)
	// answer is the beginning of a row of the rubric: a chapter, and the number of its exercise.
	answer = regexp.MustCompile(`(?m)^\| \[([a-z0-9-]+)\]\(\.\./tutorial/([a-z0-9-]+)/README\.md#exercises\), (\d+) \|`)
)

// TestRubric requires that the rubric answers each exercise that asks for an explanation, in the order of the chapters, and no other.
func TestRubric(t *testing.T) {
	var asked, answered []string
	for _, file := range glob(t, "tutorial/*/README.md") {
		chapter := path.Base(path.Dir(file))
		for _, exercise := range explain.FindAllStringSubmatch(read(t, file), -1) {
			asked = append(asked, chapter+", "+exercise[1])
		}
	}
	for _, row := range answer.FindAllStringSubmatch(read(t, "docs/teaching.md"), -1) {
		if row[1] != shortName(row[2]) {
			t.Errorf("the row of chapter %s links to chapter %s", row[1], row[2])
		}
		answered = append(answered, row[2]+", "+row[3])
	}
	if len(asked) == 0 || !slices.Equal(asked, answered) {
		t.Errorf("docs/teaching.md answers %q, expected the exercises %q", answered, asked)
	}
}

// shortName is how a page calls a chapter: by its number, if it has one.
func shortName(chapter string) string {
	if number, _, _ := strings.Cut(chapter, "-"); regexp.MustCompile(`^\d\d$`).MatchString(number) {
		return number
	}
	return chapter
}
