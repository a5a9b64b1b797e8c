package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/example/operator-testbed/e2e/framework"
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
	passed     *string // what the tests print on the healthy operator where they fail; nil before they have run
}

// New returns the tests of the chapter called stage, in the repository at root.
func New(root, stage string) *Tests { return &Tests{root: root, stage: stage} }

// attempts is how often tests have to notice a fault. A flaky test that fails by chance has not noticed anything.
const attempts = 3

// runLimit is how long one run of the tests may take, in the format of go test. A hundred repetitions take seconds, and minutes on a busy machine.
const runLimit = "10m"

// Pass fails unless all tests pass on the healthy operator, run with these arguments of go test.
func (t *Tests) Pass(ctx context.Context, s *framework.Scope, args ...string) {
	s.Helper()
	t.prepare(ctx, s)
	if output, ok := t.run(ctx, s, "", args...); !ok {
		s.Fatalf("expected the tests to pass on the healthy operator%s:\n%s", with(args), last(output))
	}
}

// Notice fails unless the tests pass on the healthy operator, and fail on the one with a fault.
func (t *Tests) Notice(ctx context.Context, s *framework.Scope, fault string) {
	s.Helper()
	broken := t.prepare(ctx, s)[fault]
	if broken == "" {
		s.Fatalf("there is no fault %q", fault)
	}
	if output := t.healthy(ctx, s); output != "" {
		s.Fatalf("expected the tests to pass on the healthy operator, because otherwise it proves nothing that they fail on another one:\n%s", last(output))
	}
	for range attempts {
		output, ok := t.run(ctx, s, fault)
		if ok {
			s.Fatalf("expected at least one test to fail, because in this operator %s", broken)
		}
		if !strings.Contains(output, "--- FAIL: ") {
			s.Fatalf("expected a test to fail by an assertion, because in this operator %s; it printed:\n%s", broken, last(output))
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
	files, err := Files(ctx, root, c, t.faults, key, func(text string) string { return text })
	if err != nil {
		return err
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
	if t.executable == "" || t.executable == os.Getenv(testsVariable) {
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
		output, ok := t.run(ctx, s, "")
		if ok {
			output = ""
		} else if output == "" {
			output = "(no output)"
		}
		t.passed = &output
	}
	return *t.passed
}

// run runs the tests on the operator with a fault, or on the healthy one if that is "", and reports whether they pass.
func (t *Tests) run(ctx context.Context, s *framework.Scope, fault string, args ...string) (output string, ok bool) {
	s.Helper()
	output, exit := s.Execute(ctx, t.executable, append([]string{"-test.timeout=" + runLimit}, args...), []string{schemata.Variable + "=" + t.key.Value(fault)})
	return output, exit == 0
}

// with returns the arguments for a message.
func with(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return " with " + strings.Join(args, " ")
}

// most is how many lines of the tests' output are worth reading.
const most = 25

// last returns the last lines of an output.
func last(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if left := len(lines) - most; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
}
