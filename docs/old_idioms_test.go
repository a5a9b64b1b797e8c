package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// idiom is a row of the table of old idioms: the idiom, what goes wrong, what to write instead, and what catches it.
	idiom = regexp.MustCompile(`(?m)^\| (.+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$`)
	// named is what a cell names.
	named = regexp.MustCompile("`([^`]+)`")
)

// TestOldIdioms requires that each idiom names a check, and that the check exists: a mutant that a suite kills, a linter, or a make
// target.
func TestOldIdioms(t *testing.T) {
	var checks []string
	for _, directory := range []string{"tutorial/*/test/e2e/mutants", "e2e/memcached/mutants"} {
		for _, patch := range glob(t, directory+"/*.patch") {
			checks = append(checks, strings.TrimSuffix(filepath.Base(patch), ".patch"))
		}
	}
	for _, enabled := range regexp.MustCompile(`(?m)^    - ([a-z]+)`).FindAllStringSubmatch(read(t, ".golangci.yml"), -1) {
		checks = append(checks, enabled[1])
	}
	_, table, begins := strings.Cut(read(t, "docs/other-ways.md"), "<!-- The idioms.")
	table, _, ends := strings.Cut(table, "<!-- The end of the idioms. -->")
	rows := idiom.FindAllStringSubmatch(table, -1)
	if !begins || !ends || len(rows) < 15 {
		t.Fatalf("other-ways.md has %d rows in its table of idioms, expected at least 15", len(rows))
	}
	for _, row := range rows[1:] { // after the heading
		names := named.FindAllStringSubmatch(row[4], -1)
		if len(names) == 0 {
			t.Errorf("no check of ours catches %s: name a mutant, a linter or a point of make conformance", row[1])
		}
		for _, name := range names {
			if !strings.HasPrefix(name[1], "make ") && !slices.Contains(checks, name[1]) {
				t.Errorf("%s is caught by %s, and there is no such mutant or linter", row[1], name[1])
			}
		}
	}
}
