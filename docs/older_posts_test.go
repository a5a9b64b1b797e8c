package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const olderPosts = "docs/older-posts.md"

var (
	// commandRow is a row of the table of commands: when, what is typed, what comes of it, what to type today, and where that is executed.
	commandRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ((?:[^|]|\\\|)+) \| (as written|refused|replaced) \| ((?:[^|]|\\\|)*)\| ([^|]+) \|$`)
	// consoleBlock matches a block with commands, its attributes and its text.
	consoleBlock = regexp.MustCompile("(?ms)^```console([^\n]*)\n(.*?\n)```$")
	// linked matches the destination of a link.
	linked = regexp.MustCompile(`\]\(([^)#]*)(?:#[^)]*)?\)`)
)

// Each command of the older posts, or what replaces it, is in a block that tests type, or a test that the row names is about it.
func TestOlderPostsAreExecuted(t *testing.T) {
	_, table, found := strings.Cut(read(t, olderPosts), "<!-- The commands.")
	table, _, ends := strings.Cut(table, "<!-- The end of the commands. -->")
	if !found || !ends {
		t.Fatalf("%s has no table of commands", olderPosts)
	}
	rows := commandRow.FindAllStringSubmatch(table, -1)
	if lines := strings.Count(table, "\n| "); len(rows) < 25 || len(rows) != lines-1 {
		t.Fatalf("the table of commands has %d lines, of which %d are rows below its heading", lines, len(rows))
	}
	for _, row := range rows {
		typed, result, today, executed := row[2], row[3], row[4], row[5]
		command := firstCode(today)
		if result == "as written" || result == "refused" && !strings.Contains(executed, "01-custom-resource") {
			command = firstCode(typed)
		}
		if command == "" {
			t.Errorf("the row of %s names no command that can be looked for", typed)
			continue
		}
		if !isExecuted(t, command, executed) {
			t.Errorf("%s is said to be executed in %s, but is typed in no block there", command, executed)
		}
	}
}

// firstCode returns the first piece of code of a cell.
func firstCode(cell string) string {
	match := named.FindStringSubmatch(cell)
	if match == nil {
		return ""
	}
	return strings.ReplaceAll(match[1], `\|`, "|")
}

// isExecuted reports whether a command is typed in a block of one of the pages that a cell links to, or the cell names a test that exists.
func isExecuted(t *testing.T, command, cell string) bool {
	t.Helper()
	for _, name := range named.FindAllStringSubmatch(cell, -1) {
		if strings.HasPrefix(name[1], "Test") {
			return isTest(t, name[1])
		}
	}
	for _, link := range linked.FindAllStringSubmatch(cell, -1) {
		page := olderPosts
		if link[1] != "" {
			page = filepath.Join(filepath.Dir(olderPosts), link[1])
		}
		for _, block := range consoleBlock.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(block[1], "skip=") {
				continue
			}
			for line := range strings.Lines(block[2]) {
				if text, is := strings.CutPrefix(line, "$ "); is && strings.Contains(text, command) {
					return true
				}
			}
		}
	}
	return false
}

// isTest reports whether a test of that name exists.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	found := false
	for _, directory := range []string{"docs", "e2e", "operator", "scripts", "tutorial"} {
		err := filepath.WalkDir(filepath.Join(repository, directory), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || found || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			found = strings.Contains(string(text), "func "+name+"(t *testing.T)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestCommandsAreLookedFor(t *testing.T) {
	for cell, want := range map[string]bool{
		"[below](#three-scaffolds)":                                      true,
		"[01-custom-resource](../tutorial/01-custom-resource/README.md)": false,
		"`TestOlderPostsAreExecuted`":                                    true,
		"`TestOfNothing`":                                                false,
	} {
		if got := isExecuted(t, "operator-sdk init --domain example.com", cell); got != want {
			t.Errorf("%s: got %t, expected %t", cell, got, want)
		}
	}
	if slices.Contains([]string{firstCode("none"), firstCode("a `b` c `d`")}, "d") || firstCode("`a \\| b`") != "a | b" {
		t.Error("firstCode returns other code than the first")
	}
}
