package tutorial_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// most is how many lines of Go a chapter may add to the one that it builds on.
const most = 450

// due are the steps that are larger today, with the limit that holds until they are split.
var due = map[string]int{
	// 10-admission and 11-certificates will share it: CEL, policies and webhooks in one, internal/certificates in the other.
	"10-webhooks": 1150,
	// The tour of the finished operator will be told in sub-steps, each file in one of them.
	"11-finished": 3500,
}

// A step between neighboring chapters can be climbed in one go: so many lines of Go are to be written, or read where the step has
// no copy to write. Tests and generated code do not count.
func TestStepsAreSmall(t *testing.T) {
	all := chapters(t)
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "chapter\tfrom\tlines of Go\tmost")
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := all[name]
		from := c.BuildsOn
		if c.Shares != nil {
			from = c.Shares.With
		}
		before := map[string][]byte{}
		if from != "" {
			before = goCode(t, all[from])
		}
		lines, limit := addedLines(t, before, goCode(t, c)), most
		if due[name] > 0 {
			limit = due[name]
			if lines <= most {
				t.Errorf("%s adds %d lines of Go, which is small enough: take it off the list of steps that are to be split", name, lines)
			}
		}
		if lines > limit {
			t.Errorf("%s adds %d lines of Go to %s, expected at most %d: move something to another chapter", name, lines, from, limit)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", name, from, lines, limit)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
}

// generated is what a generator writes at the top of a file.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// goCode returns what somebody has written of a chapter's operator in Go, without tests.
func goCode(t *testing.T, c chapter.Chapter) map[string][]byte {
	t.Helper()
	code, err := c.Code(".")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range code {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || generated.Match(text) {
			delete(code, file)
		}
	}
	return code
}

// addedLines counts the lines that git sees added from one to the other, or changed.
func addedLines(t *testing.T, before, after map[string][]byte) int {
	t.Helper()
	dir := t.TempDir()
	for side, code := range map[string]map[string][]byte{"before": before, "after": after} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range code {
			path := filepath.Join(dir, side, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	diff := exec.Command("git", "diff", "--no-index", "--numstat", "before", "after")
	diff.Dir = dir
	out, err := diff.Output()
	if err != nil && diff.ProcessState.ExitCode() != 1 { // 1 means that the two differ
		t.Fatal(err)
	}
	sum := 0
	for line := range strings.Lines(string(out)) {
		added, _, _ := strings.Cut(line, "\t")
		count, err := strconv.Atoi(added)
		if err != nil {
			t.Fatalf("git diff --numstat says %q", line)
		}
		sum += count
	}
	return sum
}
