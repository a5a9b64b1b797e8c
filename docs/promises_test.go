package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesOfTheGrader looks for each test that the table of decision 18 names, and for those with a star in make class-proof.
func TestPromisesOfTheGrader(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, dir := range []string{"tutorial", "e2e/framework", "e2e/confinement"} {
		err := fs.WalkDir(os.DirFS(filepath.Join(repository, dir)), ".", func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				for _, match := range declared.FindAllStringSubmatch(read(t, filepath.Join(dir, path)), -1) {
					tests[match[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, target, _ := strings.Cut(read(t, "Makefile"), "\nclass-proof:")
	target, _, _ = strings.Cut(target, "\n\n")
	var chosen []*regexp.Regexp
	for _, match := range regexp.MustCompile(`-run='([^']+)'`).FindAllStringSubmatch(target, -1) {
		chosen = append(chosen, regexp.MustCompile(strings.ReplaceAll(match[1], "$$", "$")))
	}
	_, table, _ := strings.Cut(read(t, "docs/decisions/0018-how-a-submission-is-graded.md"), "## What each promise is tested by")
	named := regexp.MustCompile("`(Test\\w+)`(\\\\\\*)?").FindAllStringSubmatch(table, -1)
	if len(named) < 30 || len(chosen) == 0 {
		t.Fatalf("the table names %d tests, and make class-proof runs %d packages", len(named), len(chosen))
	}
	for _, name := range named {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
		runs := false
		for _, pattern := range chosen {
			runs = runs || pattern.MatchString(name[1])
		}
		if name[2] != "" && !runs {
			t.Errorf("make class-proof does not run %s", name[1])
		}
	}
}
