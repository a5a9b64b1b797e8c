package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/mutant"
)

// chapterMutants are the mutants of one chapter of the tutorial.
type chapterMutants struct {
	chapter string
	mutants []mutant.Mutant
}

// TestMutantsPage compares the table of the chapters' mutants with their patches. The header of each patch says what is broken and
// which assertion catches it; make mutants checks that this is true.
func TestMutantsPage(t *testing.T) {
	directories, err := filepath.Glob(filepath.Join(repository, "tutorial", "*", "test", "e2e", "mutants"))
	if err != nil || len(directories) == 0 {
		t.Fatalf("chapters with mutants: %q, %v", directories, err)
	}
	slices.Sort(directories)
	var all []chapterMutants
	for _, directory := range directories {
		mutants, err := mutant.Read(directory)
		if err != nil {
			t.Fatal(err)
		}
		chapter, _, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(directory), repository+"/tutorial/"), "/")
		all = append(all, chapterMutants{chapter, mutants})
	}
	generated(t, "reference/mutants.md", "the heads of the chapters' patches", mutantsTable(all))
}

func mutantsTable(all []chapterMutants) string {
	escape := strings.NewReplacer("|", `\|`).Replace
	count := 0
	var b strings.Builder
	b.WriteString("\n| chapter | mutant | what is broken | feature that fails | with |\n|---|---|---|---|---|\n")
	for _, c := range all {
		for _, m := range c.mutants {
			fmt.Fprintf(&b, "| [%s](../../tutorial/%[1]s/README.md) | [%s](../../tutorial/%[1]s/test/e2e/mutants/%[2]s.patch) | %s | `%s` | `%s` |\n",
				c.chapter, m.Name, escape(m.Fault), m.Test, escape(m.Assertion))
			count++
		}
	}
	fmt.Fprintf(&b, "\n%d chapters, %d mutants.\n\n", len(all), count)
	return b.String()
}

func TestMutantsTable(t *testing.T) {
	table := mutantsTable([]chapterMutants{{"01-one", []mutant.Mutant{{Name: "m", Fault: "a | b", Test: "TestA", Assertion: "to be 1"}}}})
	const want = "\n| [01-one](../../tutorial/01-one/README.md) | [m](../../tutorial/01-one/test/e2e/mutants/m.patch) | a \\| b | `TestA` | `to be 1` |\n\n1 chapters, 1 mutants.\n"
	if !strings.Contains(table, want) {
		t.Errorf("%q is not in %s", want, table)
	}
}
