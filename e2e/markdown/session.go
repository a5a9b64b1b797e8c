package markdown

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/tier"
)

const (
	// timeout is how long the commands of a block may take, and exitTimeout how long they may run after the Ctrl-C at the end. Both only
	// keep a command that hangs from running forever: on a new machine that is busy, compiling takes a long time.
	timeout     = time.Hour
	exitTimeout = 10 * time.Minute

	stateVariable = "TESTBED_STATE"
	// insideVariable keeps tests that a block runs from running blocks.
	insideVariable = "TESTBED_PROSE"
)

// session is a page that is being run, or several: a copy of the repository, and terminals in it.
type session struct {
	page        *page // that is run now
	copy        string
	commands    string // the directory of what is typed
	state       string
	environment []string
	terminals   map[int]*terminal
}

// runPages runs the blocks of pages that need no more than there is, and stops at the first that is not as shown.
func runPages(ctx context.Context, o Options, pages []*page, directory string, has []string) (problems []Problem) {
	s := session{
		page:      pages[0],
		copy:      filepath.Join(directory, "operator-testbed"),
		commands:  filepath.Join(directory, "typed"),
		state:     filepath.Join(directory, "state"),
		terminals: map[int]*terminal{},
	}
	snapshot, err := o.snapshot()
	if err == nil {
		err = copyRepository(o, snapshot, s.copy)
	}
	if err != nil {
		return []Problem{{s.page.file, 1, err.Error()}}
	}
	// What a reader's shell has, except what would lead to a cluster or settings of theirs, and what the make or the test that runs
	// this has set.
	s.environment = append(
		without(os.Environ(), "CLUSTER=", "KUBECONFIG=", "MAKE", "MFLAGS=", "GIT_", "GOFLAGS=", "GO111MODULE=", "GOWORK=", "GOOS=", "GOARCH=", "TESTBED_GO_PROFILE=", tier.Variable+"=", "LC_ALL=", "PWD=", "OLDPWD=", stateVariable+"="),
		stateVariable+"="+s.state,
		"KUBECONFIG="+filepath.Join(directory, "kubeconfig"),
		"GOENV="+filepath.Join(directory, "goenv"),
		// So that what is compiled in one copy need not be compiled in the next. Vet reads all that a test depends on, which takes
		// longer than compiling it, and make lint does what it does. A busy machine may need longer than the ten minutes that go test
		// gives the tests of a package.
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -vet=off -timeout=0"),
		"TESTBED_GOFLAGS=-vet=off -timeout=0", // make replaces GOFLAGS
		// What WSL exports, and what other programs have in many profiles.
		"NAME=DESKTOP-AB12CD", "STAGE=dev", "DEBUG=true", "ARCH=x86_64", "PORT=8080", "DIR=/nowhere",
		"LC_ALL=C.UTF-8",
		insideVariable+"=inside",
	)
	// The clean-up is done although the test may be over.
	defer func() { problems = append(problems, s.end(context.WithoutCancel(ctx), len(problems) == 0)...) }()
	for _, s.page = range pages {
		for _, b := range inOrder(s.page.blocks) {
			if kind, _ := b.kind(); kind != kindConsole {
				continue
			}
			script, err := parseConsole(b)
			if err != nil || script.skip != "" || script.lacks(has) != "" {
				continue
			}
			if problem := s.run(ctx, b, script); problem != nil {
				return []Problem{*problem}
			}
		}
	}
	return nil
}

// run runs a block.
func (s *session) run(ctx context.Context, b block, script script) *Problem {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("gave up after %s", timeout))
	defer cancel()
	t, err := s.terminal(ctx, script.terminal)
	if err == nil {
		err = t.resume(ctx, script)
	}
	line := b.line
	for n, c := range script.commands {
		if err != nil {
			break
		}
		line = c.line
		last := n == len(script.commands)-1
		if err = t.start(c.text); err != nil {
			break
		}
		switch {
		case last && script.background:
			err = t.waitForOutput(ctx, c.output)
		case last:
			err = t.waitForExit(ctx, script.exit, c.output)
		default:
			err = t.waitForExit(ctx, 0, c.output)
		}
	}
	if err != nil {
		return &Problem{s.page.file, line, err.Error()}
	}
	return nil
}

// terminal returns the terminal of that number, and opens it if it isn't open yet.
func (s *session) terminal(ctx context.Context, number int) (t *terminal, err error) {
	if s.terminals[number] == nil {
		s.terminals[number], err = openTerminal(ctx, number, s.copy, filepath.Join(s.commands, strconv.Itoa(number)), s.environment)
	}
	return s.terminals[number], err
}

// compared shows what was printed, and the first line that was not.
func compared(shown []string, output string) string {
	missing := firstMissing(trimmed(shown), output)
	switch {
	case len(trimmed(shown)) == 0:
		return "printed:\n" + tabbed(output)
	case missing == "":
		return "more was printed than is shown:\n" + tabbed(output)
	}
	return "shown, but not printed after the lines before it:\n" + tabbed(missing) + "printed:\n" + tabbed(output)
}

func tabbed(text string) string { return lineStart.ReplaceAllString(lined(text), "\t${0}") }

// end closes the terminals, and takes down the clusters that are left. Leaving one is a problem of a page that has no other.
func (s *session) end(ctx context.Context, sound bool) []Problem {
	var failed []error
	for _, number := range slices.Sorted(maps.Keys(s.terminals)) {
		ctx, cancel := context.WithTimeoutCause(ctx, exitTimeout, fmt.Errorf("it is still running after %s", exitTimeout))
		failed = append(failed, s.terminals[number].close(ctx))
		cancel()
	}
	left, _ := filepath.Glob(filepath.Join(s.state, "clusters", "*"))
	for _, cluster := range left {
		name := filepath.Base(cluster)
		if sound {
			failed = append(failed, fmt.Errorf("the page leaves the cluster %s up: add make down at its end", name))
		}
		down := exec.CommandContext(ctx, "make", "down", "NAME="+name)
		down.Dir, down.Env = s.copy, s.environment
		if output, err := down.CombinedOutput(); err != nil {
			failed = append(failed, fmt.Errorf("make down NAME=%s: %w\n%s", name, err, output))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return []Problem{{s.page.file, strings.Count(string(s.page.source), "\n"), err.Error()}}
	}
	return nil
}
