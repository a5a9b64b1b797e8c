package markdown

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Options say which pages are checked.
type Options struct {
	// Root is the folder of the repository.
	Root string
	// Files are Markdown files, relative to Root, with slashes.
	Files []string
	// Built are files that git ignores and that Run takes along if there are any, because they take long to make: executables
	// that the Go command knows to be up to date, or makes anew. Nothing may write them meanwhile.
	Built []string
	// InOrder has Run run the files one after the other in the same copy and terminals, as somebody would who reads them so.
	InOrder bool
	// Update has Check write excerpts and diffs instead of comparing them.
	Update bool
}

// Files returns the Markdown files of the repository: those that git knows or would add.
func Files(root string) ([]string, error) {
	return repositoryFiles(root, "*.md")
}

// Check checks everything about the files that can be told without running a command: each block is of a known kind, each
// excerpt and diff is what it names, each link leads somewhere, and files and targets of make that are named are there.
func Check(t *testing.T, o Options) {
	t.Helper()
	for _, file := range o.Files {
		t.Run(file, func(t *testing.T) {
			if o.Update {
				if err := update(o.Root, file); err != nil {
					t.Error(err)
				}
			}
			p, err := readPage(o.Root, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range check(o.Root, p) {
				t.Error(problem)
			}
		})
	}
}

func check(root string, p *page) []Problem {
	return slices.Concat(checkBlocks(root, p), checkLinks(root, p), checkSpans(root, p))
}

// Run runs the console blocks of each file in a copy of the repository of its own, with a TESTBED_STATE of its own, and
// compares what they print. The environment variable CLUSTER says what there is to run on: nothing, embedded or kind. With
// kind, only files with a block that needs it are run, and all of each; nothing is said of the others. What is not run is a skipped test that says why.
func Run(t *testing.T, o Options) {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		t.Skip("a block of a page runs this test, and blocks that run blocks would never end")
	}
	// Ctrl-C must not leave a cluster of a page behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	var pages []*page
	for _, file := range o.Files {
		p, err := readPage(o.Root, file)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	if o.InOrder {
		runTogether(ctx, t, "in order", o, pages)
		return
	}
	for _, p := range pages {
		runTogether(ctx, t, p.file, o, []*page{p})
	}
}

// runTogether is a test that runs pages in one copy of the repository.
func runTogether(ctx context.Context, t *testing.T, name string, o Options, pages []*page) {
	plan := planned(pages, os.Getenv("CLUSTER"))
	if plan.run+len(plan.missing)+len(plan.skipped) == 0 {
		return
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		for _, s := range plan.skipped {
			t.Run(s.place, func(t *testing.T) { t.Skip(s.reason) })
		}
		if len(plan.missing) > 0 {
			t.Run("needs", func(t *testing.T) {
				t.Skipf("%d of its blocks can't be run without a cluster: run them with %s", len(plan.missing), targets(plan.missing))
			})
		}
		if plan.run == 0 {
			return
		}
		for _, problem := range runPages(ctx, o, pages, t.TempDir(), plan.has) {
			t.Error(problem)
		}
	})
}

// plan says which blocks of pages are run.
type plan struct {
	has     []string // what a block may need
	run     int      // how many
	missing []string // what the blocks need that are not run
	skipped []skipped
}

// skipped is a block that is never run.
type skipped struct{ place, reason string }

func planned(pages []*page, cluster string) plan {
	var scripts []script
	needsKind := false
	result := plan{}
	for _, p := range pages {
		for _, b := range p.blocks {
			kind, _ := b.kind()
			if kind != kindConsole {
				continue
			}
			s, _ := parseConsole(b)
			if s.skip != "" {
				result.skipped = append(result.skipped, skipped{fmt.Sprintf("%s line %d", path.Base(p.file), b.line), s.skip})
				continue
			}
			scripts = append(scripts, s)
			needsKind = needsKind || s.needs == NeedsKind
		}
	}
	if cluster == NeedsKind && !needsKind { // make test runs all of it
		return plan{}
	}
	result.has = needs[:max(1, slices.Index(needs, cluster)+1)]
	for _, s := range scripts {
		if slices.Contains(result.has, s.needs) {
			result.run++
		} else {
			result.missing = append(result.missing, s.needs)
		}
	}
	return result
}

// targets says how blocks that are not run are run.
func targets(missing []string) string {
	var ways []string
	if slices.Contains(missing, NeedsEmbedded) || slices.Contains(missing, NeedsNone) {
		ways = append(ways, "make test, or CLUSTER=embedded")
	}
	if slices.Contains(missing, NeedsKind) {
		ways = append(ways, "make e2e, or CLUSTER=kind")
	}
	return strings.Join(ways, "; ")
}

// Tally counts the blocks of pages.
type Tally struct {
	Blocks int
	// Skipped are those that nothing checks, each with its place and reason; Quotes those from elsewhere, with their
	// source.
	Skipped, Quotes []string
}

// Count counts the blocks of the files of a repository.
func Count(root string, files []string) (Tally, error) {
	var tally Tally
	for _, file := range files {
		p, err := readPage(root, file)
		if err != nil {
			return Tally{}, err
		}
		tally.Blocks += len(p.blocks)
		for _, b := range p.blocks {
			if reason := b.info.attributes["skip"]; reason != "" {
				tally.Skipped = append(tally.Skipped, fmt.Sprintf("%s:%d: %s", file, b.line, reason))
			}
			if source := b.info.attributes["source"]; source != "" {
				tally.Quotes = append(tally.Quotes, fmt.Sprintf("%s:%d: %s", file, b.line, source))
			}
		}
	}
	return tally, nil
}

// update writes the excerpts and diffs of a page.
func update(root, file string) error {
	p, err := readPage(root, file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	at := 0
	for _, block := range inOrder(p.blocks) {
		kind, fault := block.kind()
		if fault != "" || block.stale(root, kind) == "" {
			continue
		}
		want, err := block.generated(root, kind)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, block.line, err)
		}
		b.Write(p.source[at:block.begin])
		for line := range strings.Lines(want) {
			if line != "\n" {
				b.WriteString(block.indent)
			}
			b.WriteString(line)
		}
		at = block.end
	}
	if at == 0 {
		return nil
	}
	b.Write(p.source[at:])
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(path.Clean(file))), b.Bytes(), 0o644)
}

// inOrder are blocks as they stand in the page.
func inOrder(blocks []block) []block {
	return slices.SortedFunc(slices.Values(blocks), func(a, b block) int { return a.begin - b.begin })
}
