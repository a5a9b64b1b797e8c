// Package summary says what a run of tests has proven. It reads what `go test -json` prints. What it counts, beyond tests, the tests
// declare themselves with attributes, which package tier writes. Programs that are not tests, such as the one that tries mutants, print
// the same events.
//
// It needs only the standard library, so that the program that runs the tests compiles in a second.
package summary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Variable is the environment variable that names the tier whose tests run. Only package tier reads it.
const Variable = "TESTBED_TIER"

// Keys of the attributes of tests (testing.T.Attr).
const (
	// TierKey has the tier that a skipped test belongs to, such as "all".
	TierKey = "testbed.tier"
	// ProvesKey has what a test proves when it passes, and how often: "feature 1". A test may have several.
	ProvesKey = "testbed.proves"
)

// What a test can prove.
const (
	Feature = "feature" // of a suite, on a cluster
	Mutant  = "mutant"  // that a suite has caught
	Block   = "block"   // of commands on a page, which printed what the page shows
	Lab     = "lab"     // whose fault breaks what it says; that a check catches it, the mutants show
)

// kinds are the things to count, in the order in which they are printed.
var kinds = []string{Feature, Mutant, Block, Lab}

// Event is a line of `go test -json`.
type Event struct {
	Action  string
	Package string `json:",omitempty"`
	Test    string `json:",omitempty"`
	Output  string `json:",omitempty"`
	Key     string `json:",omitempty"`
	Value   string `json:",omitempty"`
}

// Skip is a test that was skipped.
type Skip struct {
	// Package is relative to the repository, such as e2e/memcached.
	Package, Test string
	// Reason is what the test printed.
	Reason string
	// Tier is the one that the test belongs to, if that is why it was skipped.
	Tier string
}

func (s Skip) String() string {
	return fmt.Sprintf("%s %s: %s", s.Package, s.Test, s.Reason)
}

// Run is what happened in a run of tests. The zero value is one without tests.
type Run struct {
	passed  map[name]bool  // tests, without subtests
	proven  map[string]int // by kind
	suites  map[string]bool
	skips   []Skip
	failed  []string // tests, and packages that failed without one
	running []string // tests that have neither passed nor failed nor been skipped
	cached  int      // packages whose result Go's test cache knew
}

func empty() Run {
	return Run{passed: map[name]bool{}, proven: map[string]int{}, suites: map[string]bool{}}
}

// name identifies a test.
type name struct{ pkg, test string }

// module is the beginning of the names of this repository's packages.
const module = "github.com/example/operator-testbed/"

// Read reads the events of a run, and ignores all other lines, such as those of a compiler.
func Read(events io.Reader) (Run, error) {
	r := empty()
	tests := map[name]*test{}
	in := bufio.NewReader(events)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return Run{}, fmt.Errorf("read events of tests, line %d: %w", number, err)
		}
		var e Event
		if bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &e) == nil {
			if err := r.add(tests, e); err != nil {
				return Run{}, fmt.Errorf("read events of tests, line %d: %w", number, err)
			}
		}
		if err != nil {
			break
		}
	}
	for n, t := range tests {
		if n.test != "" && t.started && !t.ended {
			r.running = append(r.running, n.pkg+" "+n.test)
		}
	}
	r.sort()
	return r, nil
}

// test is what is known of a test, or of a package, before it ends.
type test struct {
	started bool
	ended   bool
	failure bool // of a part of it
	tier    string
	proves  map[string]int
	output  []string
}

func (r *Run) add(tests map[name]*test, e Event) error {
	n := name{strings.TrimPrefix(e.Package, module), e.Test}
	if e.Package == "" {
		return nil
	}
	t := lookUp(tests, n)
	switch e.Action {
	case "run":
		t.started = true
	case "attr":
		return t.attribute(e.Key, e.Value)
	case "output":
		if e.Test != "" {
			t.output = append(t.output, e.Output)
		} else if strings.HasPrefix(e.Output, "ok ") && strings.Contains(e.Output, "(cached)") {
			r.cached++
		}
	case "pass", "fail", "skip":
		t.ended = true
		r.end(n, t, e.Action)
		for e.Action == "fail" && n.test != "" {
			n = n.parent()
			lookUp(tests, n).failure = true
		}
		t.output = nil // what a long run prints is not kept
	}
	return nil
}

func lookUp(tests map[name]*test, n name) *test {
	if tests[n] == nil {
		tests[n] = &test{proves: map[string]int{}}
	}
	return tests[n]
}

// parent returns the test that a subtest is part of, or else the package.
func (n name) parent() name {
	n.test = n.test[:max(0, strings.LastIndex(n.test, "/"))]
	return n
}

func (t *test) attribute(key, value string) error {
	switch key {
	case TierKey:
		if find(value).name == "" {
			return fmt.Errorf("the attribute %s is %q: want one of %q", key, value, Tiers())
		}
		t.tier = value
	case ProvesKey:
		kind, number, _ := strings.Cut(value, " ")
		count, err := strconv.Atoi(number)
		if err != nil || count < 0 || !slices.Contains(kinds, kind) {
			return fmt.Errorf("the attribute %s is %q: want one of %q and a number", key, value, kinds)
		}
		t.proves[kind] += count
	}
	return nil
}

func (r *Run) end(n name, t *test, action string) {
	switch {
	case action == "fail":
		if !t.failure { // or else what has failed is in the list
			r.failed = append(r.failed, strings.TrimSuffix(n.pkg+" "+n.test, " "))
		}
	case n.test == "":
	case action == "skip":
		r.skips = append(r.skips, Skip{n.pkg, n.test, reason(t.output), t.tier})
	default:
		if !strings.Contains(n.test, "/") {
			r.passed[n] = true
		}
		for kind, count := range t.proves {
			r.proven[kind] += count
			if kind == Feature {
				r.suites[n.pkg] = true
			}
		}
	}
}

// reason returns what a skipped test printed, without the place in its code.
func reason(output []string) string {
	var lines []string
	for line := range strings.Lines(strings.Join(output, "")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if file, text, found := strings.Cut(line, ": "); found && strings.Contains(file, ".go:") && !strings.Contains(file, " ") {
			line = text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// Merge returns what happened in several runs, such as the parts of one.
func Merge(runs ...Run) Run {
	all := empty()
	for _, r := range runs {
		maps.Copy(all.passed, r.passed)
		all.cached += r.cached
		for kind, count := range r.proven {
			all.proven[kind] += count
		}
		maps.Copy(all.suites, r.suites)
		all.skips = append(all.skips, r.skips...)
		all.failed = append(all.failed, r.failed...)
		all.running = append(all.running, r.running...)
	}
	// What one part of a run leaves to another tier, another part may have run.
	all.skips = slices.DeleteFunc(all.skips, func(s Skip) bool { return s.Tier != "" && all.passed[name{s.Package, s.Test}] })
	all.sort()
	return all
}

func (r *Run) sort() {
	slices.Sort(r.failed)
	slices.Sort(r.running)
	slices.SortFunc(r.skips, func(a, b Skip) int {
		return strings.Compare(a.Package+" "+a.Test, b.Package+" "+b.Test)
	})
}

// Skips returns the tests that were skipped.
func (r Run) Skips() []Skip { return slices.Clone(r.skips) }

// Skipped are lines that name the tests that were skipped: those that belong to other tiers by the command that runs them, and the others
// with their reasons.
func (r Run) Skipped() []string {
	left := map[string][]string{}
	var lines, reasons []string
	parts := map[Skip]int{} // of a test that were skipped for the same reason
	for _, s := range r.skips {
		if s.Tier == "" {
			s.Test, _, _ = strings.Cut(s.Test, "/")
			if parts[s]++; parts[s] == 1 {
				reasons = append(reasons, s.String())
			}
			continue
		}
		test := s.Test
		if others := left[s.Tier]; len(others) == 0 || !strings.HasPrefix(others[len(others)-1], s.Package+" ") {
			left[s.Tier] = append(others, s.Package+" "+test)
		} else {
			others[len(others)-1] += ", " + test
		}
	}
	for _, t := range tiers {
		if len(left[t.name]) > 0 {
			lines = append(lines, "Left to "+t.command+": "+strings.Join(left[t.name], "; "))
		}
	}
	for s, n := range parts {
		if n > 1 {
			i := slices.Index(reasons, s.String())
			reasons[i] = fmt.Sprintf("%s %s, %d parts: %s", s.Package, s.Test, n, s.Reason)
		}
	}
	for _, reason := range reasons {
		lines = append(lines, "Skipped: "+reason)
	}
	return lines
}

// Failed returns the tests that failed, without those of which a subtest did, and the packages that failed without a test.
func (r Run) Failed() []string { return slices.Clone(r.failed) }

// Running returns the tests that had started and not ended.
func (r Run) Running() []string { return slices.Clone(r.running) }

// Count returns how many things of a kind, such as [Feature], the run has proven.
func (r Run) Count(kind string) int { return r.proven[kind] }

// Proven is a line that says what the run has proven.
func (r Run) Proven() string {
	var counts []string
	count := func(n int, what string) {
		if n == 1 {
			counts = append(counts, "1 "+what)
		} else if n > 1 {
			counts = append(counts, fmt.Sprintf("%d %ss", n, what))
		}
	}
	count(len(r.passed), "test")
	count(len(r.suites), "suite")
	for _, kind := range kinds {
		count(r.proven[kind], kind)
	}
	if len(counts) == 0 {
		counts = []string{"nothing"}
	}
	line := "Proven: " + enumerate(counts)
	var more []string
	if r.cached > 0 {
		more = append(more, fmt.Sprintf("packages from Go's test cache: %d", r.cached))
	}
	if len(r.failed) > 0 {
		more = append(more, fmt.Sprintf("%d failed", len(r.failed)))
	}
	if len(r.running) > 0 {
		more = append(more, fmt.Sprintf("%d did not end", len(r.running)))
	}
	if len(more) > 0 {
		line += " (" + strings.Join(more, "; ") + ")"
	}
	return line + "."
}

// NotProven is a line that says what a run has not proven that has run all tests of some tiers, and which commands do.
func (r Run) NotProven(complete ...string) string {
	skipped := map[string]int{}
	for _, s := range r.skips {
		skipped[s.Tier]++
	}
	var others []string
	for _, t := range tiers {
		if slices.Contains(complete, t.name) {
			continue
		}
		line := t.proves + ": " + t.command
		if n := skipped[t.name]; n > 0 {
			line += fmt.Sprintf(" (%d skipped here)", n)
		}
		others = append(others, line)
	}
	if len(others) == 0 {
		return "Not proven: nothing is left out."
	}
	return "Not proven: " + strings.Join(others, "; ") + "."
}

func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
