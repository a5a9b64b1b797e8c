package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/mutant/schemata"
	"github.com/example/operator-testbed/e2e/tier"
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

// One executable is all mutants of an operator, and compiling another for one of them takes longer than trying it. A patch can nearly
// always be written so that it changes only what is in the braces of functions, and adds imports.
func TestMutantsShareAnExecutable(t *testing.T) {
	tier.All(t)
	directories, err := filepath.Glob(filepath.Join(repository, "tutorial", "*", "test", "e2e", "mutants"))
	if err != nil || len(directories) == 0 {
		t.Fatalf("chapters with mutants: %q, %v", directories, err)
	}
	for _, directory := range append(directories, filepath.Join(repository, "e2e", "memcached", "mutants")) {
		mutants, err := mutant.Read(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			if err := fits(t, m); err != nil {
				t.Errorf("%s is compiled separately: %v", m.Path, err)
			}
		}
	}
}

// fits returns why a mutant can't share an executable with others, or nil.
func fits(t *testing.T, m mutant.Mutant) error {
	t.Helper()
	broken, err := m.Apply(t.Context(), repository, "no manifests", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range m.Files {
		if filepath.Ext(file) != ".go" {
			continue
		}
		healthy, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(broken.Tree, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemata.Fit(healthy, schemata.Version{Mutant: m.Name, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

func TestMutantsTable(t *testing.T) {
	table := mutantsTable([]chapterMutants{{"01-one", []mutant.Mutant{{Name: "m", Fault: "a | b", Test: "TestA", Assertion: "to be 1"}}}})
	const want = "\n| [01-one](../../tutorial/01-one/README.md) | [m](../../tutorial/01-one/test/e2e/mutants/m.patch) | a \\| b | `TestA` | `to be 1` |\n\n1 chapters, 1 mutants.\n"
	if !strings.Contains(table, want) {
		t.Errorf("%q is not in %s", want, table)
	}
}
