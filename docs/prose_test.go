package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/markdown"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

// repository is the root of the repository, relative to this directory.
const repository = ".."

func pages(t *testing.T) []string {
	t.Helper()
	files, err := markdown.Files(repository)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "README.md") {
		t.Fatalf("the repository's Markdown files are %q, without README.md", files)
	}
	return files
}

// TestText checks every Markdown file of the repository.
func TestText(t *testing.T) {
	markdown.Check(t, markdown.Options{Root: repository, Files: pages(t), Update: *update})
}

// TestCommands runs the commands of every Markdown file except the chapters', which have tests of their own.
func TestCommands(t *testing.T) {
	tier.All(t)
	runCommands(t)
}

// TestCommandsOnKind runs them where blocks need kind: all commands of those files.
func TestCommandsOnKind(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	runCommands(t)
}

func runCommands(t *testing.T) {
	t.Helper()
	files := slices.DeleteFunc(pages(t), func(file string) bool { return strings.HasPrefix(file, "tutorial/") })
	markdown.Run(t, markdown.Options{Root: repository, Files: files, Built: []string{"bin/testbed"}, Missing: sdk.Missing(repository)})
}

// TestLittleIsSkipped limits the blocks that no test runs or compares to one in twenty.
func TestLittleIsSkipped(t *testing.T) {
	tally, err := markdown.Count(repository, pages(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d blocks, %d are skipped and %d are quotations:\n%s", tally.Blocks, len(tally.Skipped), len(tally.Quotes),
		strings.Join(slices.Concat(tally.Skipped, tally.Quotes), "\n"))
	if len(tally.Skipped)*20 > tally.Blocks {
		t.Errorf("%d of %d blocks are skipped, more than one in twenty:\n%s", len(tally.Skipped), tally.Blocks, strings.Join(tally.Skipped, "\n"))
	}
}
