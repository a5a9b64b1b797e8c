package markdown

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/e2e/tier/summary"
)

// Options say which pages are checked.
type Options struct {
	// Root is the directory of the repository.
	Root string
	// Files are Markdown files, relative to Root, with slashes.
	Files []string
	// Built are executables that git ignores and that Run copies nevertheless, if they are newer than all sources, because building
	// them takes long. Nothing may write them meanwhile.
	Built []string
	// Linked are patterns of such files that are replaced, and never written: the copies hold links to them, if they are on the same
	// file system.
	Linked []string
	// Missing are tools that blocks name (tools=NAME) and that are not on this machine, each with a sentence that says how to get
	// them. Such blocks are skipped.
	Missing map[string]string
	// InOrder makes Run run the files one after the other in the same copy and terminals, for pages that are read in that order.
	InOrder bool
	// Update makes Check write excerpts and diffs instead of comparing them.
	Update bool

	// snapshot returns what the copies are made of.
	snapshot func() (string, error)
	// newest returns when a source of the executables in Built last changed.
	newest func() (time.Time, error)
}

// Files returns the Markdown files of the repository: those that git knows or would add.
func Files(root string) ([]string, error) {
	return repositoryFiles(root, "*.md")
}

// Check checks what can be checked without running a command: each block is of a known kind, each excerpt and diff shows what it
// names, each link leads somewhere, and files and targets of make that are named exist.
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

// check checks the blocks of a page, its links, and the files and targets of make that are named within a line.
func check(root string, p *page) (problems []Problem) {
	report := func(line int, problem string) {
		if problem != "" {
			problems = append(problems, Problem{p.file, line, problem})
		}
	}
	for n, b := range p.blocks {
		report(b.line, b.problem(root, p.blocks[n+1:]))
	}
	for _, l := range p.links {
		report(l.line, follow(root, p, l.target))
	}
	t, err := readTree(root)
	if err != nil {
		report(1, err.Error())
	}
	for _, s := range p.spans {
		report(s.line, t.missing(path.Dir(p.file), s.text))
	}
	return problems
}

// Run runs the console blocks of each file in a copy of the repository of its own, with a TESTBED_STATE of its own, and
// compares what they print. The environment variable CLUSTER says what is there to run on: nothing, embedded or kind. With kind, only
// files with a block that needs it are run, and all of each. Blocks that are not run are skipped tests that say why.
func Run(t *testing.T, o Options) {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		t.Skip("a block of a page runs this test, and blocks that run blocks would run forever")
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
	o.snapshot, o.newest = snapshotOf(o.Root, filepath.Join(t.TempDir(), "snapshot")), newestOf(o.Root)
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
	plan := planned(pages, os.Getenv("CLUSTER"), o.Missing)
	if plan.run+len(plan.missing)+len(plan.skipped) == 0 {
		return
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		for _, s := range plan.skipped {
			t.Run(s.place, func(t *testing.T) { t.Skip(s.reason) })
		}
		if len(plan.missing) > 0 {
			t.Run("needs", func(t *testing.T) { plan.leave(t) })
		}
		if plan.run == 0 {
			return
		}
		tier.Proves(t, summary.Block, plan.run)
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

// leave skips a test on behalf of the blocks that need another cluster.
func (p plan) leave(t *testing.T) {
	clusters := strings.Join(slices.Compact(slices.Sorted(slices.Values(p.missing))), " or ")
	const reason = "%d of its blocks need another cluster: run them with CLUSTER=%s"
	if slices.Contains(p.missing, NeedsEmbedded) { // of which make test-all has one
		t.Skipf(reason, len(p.missing), clusters)
	}
	tier.Skipf(t, tier.InNightly, reason, len(p.missing), clusters)
}

// skipped is a block that is never run.
type skipped struct{ place, reason string }

func planned(pages []*page, cluster string, lacking map[string]string) plan {
	needsKind, result := false, plan{has: needs[:max(1, slices.Index(needs, cluster)+1)]}
	for _, p := range pages {
		for _, b := range p.blocks {
			if kind, _ := b.kind(); kind != kindConsole {
				continue
			}
			s, _ := parseConsole(b)
			switch reason := s.whySkipped(lacking); {
			case reason != "":
				result.skipped = append(result.skipped, skipped{fmt.Sprintf("%s line %d", path.Base(p.file), b.line), reason})
			case slices.Contains(result.has, s.needs):
				result.run++
			default:
				result.missing = append(result.missing, s.needs)
			}
			needsKind = needsKind || s.whySkipped(lacking) == "" && s.needs == NeedsKind
		}
	}
	if cluster == NeedsKind && !needsKind { // make test runs all of it
		return plan{}
	}
	return result
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
	for _, block := range slices.Backward(inOrder(p.blocks)) { // so that the places of those before stay what they are
		kind, fault := block.kind()
		if fault != "" || block.stale(root, kind) == "" {
			continue
		}
		want, err := block.generated(root, kind)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, block.line, err)
		}
		indented := lineStart.ReplaceAllString(want, block.indent+"${0}")
		p.source = slices.Replace(p.source, block.begin, block.end, []byte(indented)...)
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(file)), p.source, 0o644)
}

// lineStart matches the start of a line that is not empty.
var lineStart = regexp.MustCompile(`(?m)^.`)

// inOrder are blocks as they stand in the page.
func inOrder(blocks []block) []block {
	return slices.SortedFunc(slices.Values(blocks), func(a, b block) int { return a.begin - b.begin })
}
