package tutorial_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// most is how many lines of Go a chapter, or a step of it, may add to the one that it builds on.
const most = 450

// A step between neighboring chapters can be climbed in one go: so many lines of Go are to be written, or read where the step has
// no copy to write. Tests and generated code do not count. Where a chapter has steps, each is one.
func TestStepsAreSmall(t *testing.T) {
	all := chapters(t)
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "chapter\tstep\tlines of Go\tmost")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		before := map[string][]byte{}
		if c.BuildsOn != "" {
			before = goCode(t, all[c.BuildsOn])
		}
		added := addedLines(t, before, goCode(t, c))
		steps := c.Steps
		if len(steps) == 0 {
			steps = []chapter.Step{{Title: "all", Files: slices.Collect(maps.Keys(added))}}
		}
		for _, step := range steps {
			lines := 0
			for file, count := range added {
				if step.Has(file) {
					lines += count
				}
			}
			if lines > most {
				t.Errorf("%s (%s) adds %d lines of Go to %q, expected at most %d: move something to another chapter or step", name, step.Title, lines, c.BuildsOn, most)
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", name, step.Title, lines, most)
		}
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
}

// numstat is a line of git diff --numstat of the directories before and after: lines added, lines removed, and the file.
var numstat = regexp.MustCompile(`^(\d+)\t\d+\t(?:\{before => after\}|/dev/null => after|before)/(.+?)(?: => /dev/null)?\n$`)

// generated is what a generator writes at the top of a file.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// goCode returns what somebody has written of a chapter's operator in Go, without tests and the airline, which is outside of the cluster.
func goCode(t *testing.T, c chapter.Chapter) map[string][]byte {
	t.Helper()
	code, err := c.Code(".")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range code {
		airline := strings.HasPrefix(file, "cmd/airline/") || file == "internal/airline/server.go"
		if airline || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || generated.Match(text) {
			delete(code, file)
		}
	}
	return code
}

// addedLines counts, for each file, the lines that git sees added from one to the other, or changed.
func addedLines(t *testing.T, before, after map[string][]byte) map[string]int {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	if err := errors.Join(
		chapter.Write(filepath.Join(dir, "before"), before),
		chapter.Write(filepath.Join(dir, "after"), after),
		chapter.GitDiff(t.Context(), dir, &out, "--no-renames", "--numstat", "before", "after"),
	); err != nil {
		t.Fatal(err)
	}
	added := map[string]int{}
	for line := range strings.Lines(out.String()) {
		match := numstat.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("git diff --numstat says %q", line)
		}
		count, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		added[match[2]] += count
	}
	return added
}
