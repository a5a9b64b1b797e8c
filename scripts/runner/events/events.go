// Package events follows what `go test -json` prints: which test is running, what has failed and why, what was skipped, and what took
// longest. It is written for one reader at a time.
package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Event is a line of `go test -json`: see `go doc test2json`.
type Event struct {
	Time        time.Time
	Action      string
	Package     string
	ImportPath  string // of what could not be built
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// Parse reads a line. It reports whether the line is an event; commands that go test runs in print others.
func Parse(line string) (Event, bool) {
	var e Event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return Event{}, false
	}
	return e, true
}

// A Test is a test, or a subtest, that has ended.
type Test struct {
	Package, Name string
	Verdict       string // pass, fail or skip
	Elapsed       time.Duration
	// Output is what the test, and not its subtests, has printed.
	Output string
}

// A Package is a package whose tests have ended.
type Package struct {
	Name    string
	Verdict string // pass, fail or skip
	Elapsed time.Duration
	Cached  bool
	// Output is what was printed outside of tests, such as the errors of a compiler.
	Output string
	Tests  []Test
}

// Tests are the tests of one call of go test.
type Tests struct {
	module   string
	running  map[string]*runningPackage
	builds   map[string]string // what compilers have printed, by import path
	order    int
	Packages []Package
}

// runningPackage is a package whose tests have not all ended.
type runningPackage struct {
	Package
	started int // in the order of events
	tests   map[string]*runningTest
	// root has the output of each test that is not a subtest, with that of its subtests, as it came.
	root map[string]*strings.Builder
}

type runningTest struct {
	started int // 0 while it waits for its turn
	output  strings.Builder
}

// New follows the tests of a module, whose path is left out of what is shown.
func New(module string) *Tests {
	return &Tests{module: module, running: map[string]*runningPackage{}, builds: map[string]string{}}
}

// Add takes in an event, and returns what to show of it, which is empty for most.
func (t *Tests) Add(e Event) string {
	t.order++
	if e.Action == "build-output" {
		t.builds[e.ImportPath] += e.Output
		return ""
	}
	if e.Package == "" {
		return ""
	}
	p := t.running[e.Package]
	if p == nil {
		p = &runningPackage{
			Package: Package{Name: t.short(e.Package)}, started: t.order,
			tests: map[string]*runningTest{}, root: map[string]*strings.Builder{},
		}
		t.running[e.Package] = p
	}
	if e.Test == "" {
		return t.addToPackage(p, e)
	}
	return p.addToTest(e, t.order)
}

func (t *Tests) addToPackage(p *runningPackage, e Event) string {
	switch e.Action {
	case "output":
		p.Cached = p.Cached || strings.HasPrefix(e.Output, "ok ") && strings.Contains(e.Output, "\t(cached)")
		if !frame.MatchString(e.Output) {
			p.Output += e.Output
		}
		return ""
	case "pass", "fail", "skip":
	default:
		return ""
	}
	var shown strings.Builder
	// What has not ended by now was ended with its package: by a panic, by a signal, or because it called os.Exit.
	var open []string
	for name := range p.tests {
		open = append(open, name)
	}
	slices.Sort(open)
	for _, name := range open {
		shown.WriteString(p.end(name, "fail", 0))
	}
	delete(t.running, e.Package)
	p.Verdict, p.Elapsed = e.Action, seconds(e.Elapsed)
	if e.FailedBuild != "" {
		p.Output = t.builds[e.FailedBuild] + p.Output
	}
	t.Packages = append(t.Packages, p.Package)
	switch {
	case e.Action == "fail":
		// The output of tests has been shown.
		return shown.String() + fmt.Sprintf("FAIL  %s (%s)\n%s", p.Name, round(p.Elapsed), p.Output)
	case len(p.Tests) == 0 && (e.Action == "skip" || !p.Cached):
		return "" // it has no tests, or none was chosen
	case p.Cached:
		return fmt.Sprintf("ok    %s (cached)\n", p.Name)
	}
	return fmt.Sprintf("ok    %s (%s)\n", p.Name, round(p.Elapsed))
}

// frame matches what go test prints about tests and packages, which is shown in other words.
var frame = regexp.MustCompile(`^(?:=== (?:RUN|PAUSE|CONT|NAME|ATTR) |\s*--- (?:PASS|FAIL|SKIP): |PASS\n$|FAIL\n$|(?:ok  |FAIL|---)\t|\?   \t|coverage: |exit status \d+\n$|testing: warning: no tests to run\n$)`)

func (p *runningPackage) addToTest(e Event, order int) string {
	test := p.tests[e.Test]
	if test == nil {
		test = &runningTest{started: order}
		p.tests[e.Test] = test
	}
	switch e.Action {
	case "run", "cont":
		test.started = order
	case "pause":
		test.started = 0
	case "output":
		name := root(e.Test)
		if p.root[name] == nil {
			p.root[name] = &strings.Builder{}
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			p.root[name].WriteString(e.Output)
		}
		if !frame.MatchString(e.Output) {
			test.output.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		return p.end(e.Test, e.Action, seconds(e.Elapsed))
	}
	return ""
}

// end takes in that a test has ended, and returns what to show of it.
func (p *runningPackage) end(name, verdict string, elapsed time.Duration) string {
	p.Tests = append(p.Tests, Test{Package: p.Name, Name: name, Verdict: verdict, Elapsed: elapsed, Output: p.tests[name].output.String()})
	delete(p.tests, name)
	if name != root(name) {
		return ""
	}
	said := p.root[name]
	delete(p.root, name)
	if verdict != "fail" || said == nil {
		return ""
	}
	return fmt.Sprintf("=== FAIL: %s %s (%s)\n%s", p.Name, name, round(elapsed), said)
}

// Now returns what is going on, in a few words: the test that started last, or else the package, which may be creating its cluster. While no
// test runs, the Go command compiles.
func (t *Tests) Now() string {
	now, last := "", 0
	for _, p := range t.running {
		if now == "" || p.started > last && !strings.Contains(now, " ") {
			now, last = p.Name, p.started
		}
		for name, test := range p.tests {
			// A test says more than its package.
			if name == root(name) && test.started > 0 && (!strings.Contains(now, " ") || test.started > last) {
				now, last = p.Name+" "+name, test.started
			}
		}
	}
	if now == "" {
		now = "compiling"
	}
	return fmt.Sprintf("%s; %s done", now, packages(len(t.Packages)))
}

// Failed returns the tests and packages that have failed, as "PACKAGE TEST" and "PACKAGE".
func (t *Tests) Failed() []string {
	var failed []string
	for _, p := range t.Packages {
		before := len(failed)
		for _, test := range p.Tests {
			if test.Verdict == "fail" && test.Name == root(test.Name) {
				failed = append(failed, p.Name+" "+test.Name)
			}
		}
		if p.Verdict == "fail" && len(failed) == before {
			failed = append(failed, p.Name)
		}
	}
	return failed
}

// Summary returns the lines after the last package: the slowest tests, what has failed, and the counts. With skips, what was skipped and why
// comes first.
func (t *Tests) Summary(skips bool) string {
	var skipped, all []Test
	tests := 0
	for _, p := range t.Packages {
		for _, test := range p.Tests {
			if test.Name == root(test.Name) {
				tests++
			}
			if test.Verdict == "skip" {
				skipped = append(skipped, test)
			}
			if !p.Cached {
				all = append(all, test)
			}
		}
	}
	var out strings.Builder
	if skips && len(skipped) > 0 {
		fmt.Fprintf(&out, "Skipped:\n")
		for _, test := range skipped {
			fmt.Fprintf(&out, "  %s %s: %s\n", test.Package, test.Name, reason(test.Output))
		}
	}
	if slow := slowest(all); len(slow) > 0 {
		fmt.Fprintf(&out, "The slowest tests:\n")
		for _, test := range slow {
			fmt.Fprintf(&out, "  %8s  %s %s\n", round(test.Elapsed), test.Package, test.Name)
		}
	}
	failed := t.Failed()
	if len(failed) > 0 {
		fmt.Fprintf(&out, "Failed:\n")
		for _, name := range failed {
			fmt.Fprintf(&out, "  %s\n", name)
		}
	}
	noun := "tests"
	if tests == 1 {
		noun = "test"
	}
	fmt.Fprintf(&out, "%s, %d %s, %d skipped, %d failed\n", packages(len(t.Packages)), tests, noun, len(skipped), len(failed))
	return out.String()
}

// packages returns a number of packages in words.
func packages(n int) string {
	if n == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", n)
}

// slowest returns the ten tests that took longest, and at least a second. It leaves out the steps of a test that is there already, and a
// test that took as long as one of its steps.
func slowest(tests []Test) []Test {
	tests = slices.Clone(tests)
	slices.SortStableFunc(tests, func(a, b Test) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	var found []Test
	for _, test := range tests {
		if test.Elapsed < time.Second || len(found) == 10 {
			break
		}
		if !slices.ContainsFunc(found, func(other Test) bool {
			return other.Package == test.Package && (strings.HasPrefix(test.Name, other.Name+"/") ||
				strings.HasPrefix(other.Name, test.Name+"/") && other.Elapsed == test.Elapsed)
		}) {
			found = append(found, test)
		}
	}
	return found
}

// place is where in a file a test has printed a line.
var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason returns why a test was skipped: what it has printed last, in one line.
func reason(output string) string {
	var words []string
	for line := range strings.Lines(output) {
		if place.MatchString(line) {
			words = nil
		}
		words = append(words, strings.Fields(place.ReplaceAllString(line, ""))...)
	}
	if len(words) == 0 {
		return "it does not say why"
	}
	return strings.Join(words, " ")
}

// short leaves the module's path out of a package's.
func (t *Tests) short(name string) string {
	if name == t.module {
		return "."
	}
	return strings.TrimPrefix(name, t.module+"/")
}

// root returns the name of the test that a subtest belongs to.
func root(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
