package docs_test

import (
	"regexp"
	"slices"
	"testing"
)

// TestGradersPinActions compares the actions of the workflow that teachers copy with those of this repository's own.
func TestGradersPinActions(t *testing.T) {
	uses := regexp.MustCompile(`uses: \S+@[0-9a-f]{40} # v[0-9.]+`)
	ours, copied := uses.FindAllString(read(t, ".github/workflows/test.yml"), -1), uses.FindAllString(read(t, "docs/graders/github/grade.yml"), -1)
	if len(copied) != 4 {
		t.Errorf("the workflow pins %d actions, expected 4: %q", len(copied), copied)
	}
	for _, action := range copied {
		if !slices.Contains(ours, action) {
			t.Errorf("docs/graders/github/grade.yml has %q: pin it as .github/workflows/test.yml does", action)
		}
	}
}
