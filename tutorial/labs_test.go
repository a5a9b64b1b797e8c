package tutorial_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// The page for teachers has a row for each break-it lab, with what labs.yaml says.
func TestLabsAreListedForTeachers(t *testing.T) {
	page := read(t, "../docs/teaching.md")
	faults, err := exercises.Faults("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		row := fmt.Sprintf("| %s | [%s](../tutorial/%s/README.md) | %s |\n", fault.Name, chapter.Label(fault.Chapter), fault.Chapter, fault.Point)
		if !strings.Contains(page, row) {
			t.Errorf("docs/teaching.md lacks the row of the lab %s:\n%s", fault.Name, row)
		}
	}
}
