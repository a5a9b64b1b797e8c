package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/mutant/schemata"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// Tests are those that a suite tries: the learner's, which the environment names, or else those of the chapter, which it compiles.
type Tests struct {
	root, stage string

	mu         sync.Mutex
	faults     []mutant.Mutant
	executable string
	key        Key
	ours       bool    // they are the chapter's, as they are in the repository
	passed     *string // what run returned on the healthy operator; nil before that
}

// New returns the tests of the chapter called stage, in the repository at root.
func New(root, stage string) *Tests { return &Tests{root: root, stage: stage} }

const (
	// attempts is how often tests have to notice a fault. A flaky test that fails by chance has not noticed anything.
	attempts = 3
	// repetitions is how often tests have to pass.
	repetitions = 100
	// The chapter's own tests run less often in its suite: make test-all checks a copy of them as a learner's.
	attemptsOfOurs, repetitionsOfOurs = 1, 10
)

// How long the tests may take, in the format of go test. To run them once takes less than a second, and a hundred times a few: both take
// longer on a busy machine, and a learner waits this long for a test that hangs.
const (
	onceLimit     = "2m"
	repeatedLimit = "10m"
)

// Pass fails unless all tests pass on the healthy operator, run with these arguments of go test.
func (t *Tests) Pass(ctx context.Context, s *framework.Scope, args ...string) {
	s.Helper()
	t.prepare(ctx, s)
	output := t.healthy(ctx, s)
	if timedOut(output) {
		args = nil
	}
	if len(args) > 0 {
		output = t.run(ctx, s, "", append([]string{"-test.timeout=" + repeatedLimit}, args...)...)
	}
	if output != "" {
		s.Fatalf("expected the tests to pass on the healthy operator%s:\n%s", with(args), excerpt(output))
	}
}

// PassAgain fails unless all tests pass on the healthy operator each time when they are repeated, in any order.
func (t *Tests) PassAgain(ctx context.Context, s *framework.Scope) {
	s.Helper()
	t.prepare(ctx, s)
	times := repetitions
	if t.ours {
		times = repetitionsOfOurs
	}
	t.Pass(ctx, s, fmt.Sprintf("-test.count=%d", times), "-test.shuffle=on")
}

// Notice fails unless the tests pass on the healthy operator, and fail on the one with a fault.
func (t *Tests) Notice(ctx context.Context, s *framework.Scope, fault string) {
	s.Helper()
	broken := t.prepare(ctx, s)[fault]
	if broken == "" {
		s.Fatalf("there is no fault %q", fault)
	}
	if output := t.healthy(ctx, s); output != "" {
		s.Fatalf("expected the tests to pass on the healthy operator, because otherwise it proves nothing that they fail on another one: %s",
			summary(output))
	}
	times := attempts
	if t.ours {
		times = attemptsOfOurs
	}
	for range times {
		output := t.run(ctx, s, fault, "-test.timeout="+onceLimit)
		if output == "" {
			s.Fatalf("expected at least one test to fail, because in this operator %s", broken)
		}
		if !failed(output) {
			s.Fatalf("expected a test to fail by an assertion, because in this operator %s; it printed:\n%s", broken, excerpt(output))
		}
	}
}

// prepare finds the tests, or compiles them, and returns what is wrong with each operator, by the name of the fault.
func (t *Tests) prepare(ctx context.Context, s *framework.Scope) map[string]string {
	s.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.executable == "" {
		if err := t.open(ctx, s); err != nil {
			s.Fatal(err)
		}
	}
	broken := map[string]string{}
	for _, fault := range t.faults {
		broken[fault.Name] = fault.Fault
	}
	return broken
}

func (t *Tests) open(ctx context.Context, s *framework.Scope) error {
	s.Helper()
	root, err := filepath.Abs(t.root)
	if err != nil {
		return err
	}
	c, err := chapter.Read(filepath.Join(root, "tutorial", t.stage))
	if err != nil {
		return err
	}
	if t.faults, err = Faults(root, c); err != nil {
		return err
	}
	// Read in a test, both count as what its result depends on.
	given, key := os.Getenv(testsVariable), Key(os.Getenv(keyVariable))
	if given != "" {
		t.executable, t.key = given, key
		return nil
	}
	s.NeedsGo()
	key = NewKey()
	if t.ours = os.Getenv(OverlayVariable) == ""; t.ours {
		key = "the chapter's own tests" // the same each time, so that they are compiled once
	}
	files, err := Files(ctx, root, c, t.faults, key, func(text string) string { return text })
	if err != nil {
		return err
	}
	if t.ours {
		t.key = key
		return overlaid(root, filepath.Join(root, c.OperatorDirectory()), c, files, func(pkg, overlay string) (err error) {
			t.executable, err = runner.KeepTests(ctx, root, "tests-of-"+t.stage+".test", pkg, overlay)
			return err
		})
	}
	work, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return err
	}
	executable := filepath.Join(work, "tests")
	if err := Build(ctx, root, filepath.Join(root, c.OperatorDirectory()), c, files, executable); err != nil {
		return errors.Join(err, os.RemoveAll(work))
	}
	t.executable, t.key = executable, key
	return nil
}

// Close removes what was compiled.
func (t *Tests) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.executable == "" || t.executable == os.Getenv(testsVariable) || t.ours {
		return nil
	}
	return os.RemoveAll(filepath.Dir(t.executable))
}

// healthy returns what the tests print on the healthy operator, or "" if they pass there. They run once, however many faults there are.
func (t *Tests) healthy(ctx context.Context, s *framework.Scope) string {
	s.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.passed == nil {
		output := t.run(ctx, s, "", "-test.timeout="+onceLimit)
		t.passed = &output
	}
	return *t.passed
}

// run runs the tests on the operator with a fault, or on the healthy one if that is "", with these arguments of go test. It returns what
// they print, or "" if they pass.
func (t *Tests) run(ctx context.Context, s *framework.Scope, fault string, args ...string) string {
	s.Helper()
	// As go test does, so that a test that exits the process does not count as one that passes.
	args = append([]string{"-test.paniconexit0"}, args...)
	output, exit := s.Execute(ctx, t.executable, args, []string{schemata.Variable + "=" + t.key.Value(fault)})
	switch {
	case exit == 0:
		return ""
	case strings.TrimSpace(output) == "":
		return "(no output)"
	}
	return output
}

// with returns the arguments for a message.
func with(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return " with " + strings.Join(args, " ")
}

// failures matches the line about a test function that failed.
var failures = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failed reports whether the output says that a test failed. The line about it may be left out of a long output, but not the last one.
func failed(output string) bool {
	return failures.MatchString(output) || strings.HasSuffix(strings.TrimSpace(output), "\nFAIL")
}

// timedOut reports whether the tests were stopped because they took too long.
func timedOut(output string) bool { return strings.Contains(output, "panic: test timed out after ") }

// summary returns which tests have failed. What they print is in the failure of Pass.
func summary(output string) string {
	var names []string
	for _, match := range failures.FindAllStringSubmatch(output, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	if len(names) == 0 {
		return "\n" + excerpt(output)
	}
	return strings.Join(names, ", ") + " failed"
}

const (
	mostLines = 25  // how many lines of the tests' output are worth reading
	mostBytes = 300 // and how much of each
)

// excerpt returns the end of an output, or where a panic starts, because stacks follow it.
func excerpt(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	from := max(len(lines)-mostLines, 0)
	if panicked := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "panic: ") }); panicked >= 0 {
		from = max(panicked-1, 0) // the line before names the test
	}
	to := min(from+mostLines, len(lines))
	if blank := slices.Index(lines[from:to], ""); blank >= 0 && timedOut(output) { // before it are the names of the tests that ran
		to = from + blank
	}
	var kept []string
	if from > 0 {
		kept = append(kept, fmt.Sprintf("(%d lines before)", from))
	}
	for _, line := range lines[from:to] {
		if len(line) > mostBytes {
			line = strings.ToValidUTF8(line[:mostBytes], "") + "…"
		}
		kept = append(kept, line)
	}
	if after := len(lines) - to; after > 0 {
		kept = append(kept, fmt.Sprintf("(%d lines after)", after))
	}
	return strings.Join(kept, "\n")
}
