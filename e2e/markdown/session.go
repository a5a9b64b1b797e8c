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
	"strings"
	"time"
)

const (
	// patience is how long a command may take, and lastPatience how long after the Ctrl-C at the end. They only say when to
	// give up.
	patience     = 5 * time.Minute
	lastPatience = time.Minute

	stateVariable = "TESTBED_STATE"
	// insideVariable tells tests that a block runs that they must not run blocks.
	insideVariable = "TESTBED_PROSE"
)

// session is a page that is being run, or several: a copy of the repository, and terminals in it.
type session struct {
	page        *page // that is run now
	copy        string
	commands    string // the folder of what is typed
	state       string
	environment []string
	terminals   map[int]*terminal
}

// runPages runs the blocks of pages that need no more than there is, and stops at the first that is not as shown.
func runPages(ctx context.Context, o Options, pages []*page, folder string, has []string) (problems []Problem) {
	s := session{
		page:      pages[0],
		copy:      filepath.Join(folder, "operator-testbed"),
		commands:  filepath.Join(folder, "typed"),
		state:     filepath.Join(folder, "state"),
		terminals: map[int]*terminal{},
	}
	if err := copyRepository(o.Root, s.copy, o.Built); err != nil {
		return []Problem{{s.page.file, 1, err.Error()}}
	}
	// What a person's shell has, but for what would reach a cluster or settings of theirs, or is of the make or the test
	// that runs this.
	s.environment = append(
		without(os.Environ(), "CLUSTER=", "STAGE=", "KUBECONFIG=", "MAKE", "MFLAGS=", "GIT_", "GOFLAGS=", "LC_ALL=", "NAME=", "PWD=", "OLDPWD=", stateVariable+"="),
		stateVariable+"="+s.state,
		"KUBECONFIG="+filepath.Join(folder, "kubeconfig"),
		"GOENV="+filepath.Join(folder, "goenv"),
		// So that what is compiled in one copy need not be compiled in the next.
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"),
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
			if err != nil || script.skip != "" || !slices.Contains(has, script.needs) {
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
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it is given up after %s", patience))
	defer cancel()
	fault := func(line int, format string, args ...any) *Problem {
		return &Problem{s.page.file, line, fmt.Sprintf(format, args...)}
	}
	t := s.terminals[script.terminal]
	if t == nil {
		var err error
		t, err = openTerminal(ctx, s.copy, filepath.Join(s.commands, fmt.Sprint(script.terminal)), s.environment)
		if err != nil {
			return fault(b.line, "%v", err)
		}
		s.terminals[script.terminal] = t
	}
	if (script.interrupted || len(script.more) > 0) && t.running == "" {
		return fault(b.line, "no command runs in the background of terminal %d", script.terminal)
	}
	if len(script.more) > 0 {
		if output, err := t.see(ctx, script.more); err != nil {
			return fault(b.line, "`%s` does not print what is shown: %v\n%s", t.running, err, compared(script.more, output))
		}
	}
	if script.interrupted {
		name := t.running
		if err := t.interrupt(); err != nil {
			return fault(b.line, "interrupt `%s`: %v", name, err)
		}
		output, _, err := t.end(ctx)
		if err != nil {
			return fault(b.line, "`%s` does not end after Ctrl-C: %v", name, err)
		}
		if len(script.after) > 0 && !shows(script.after, output) {
			return fault(b.line, "after Ctrl-C `%s` does not print what is shown\n%s", name, compared(script.after, output))
		}
	}
	if t.running != "" && len(script.commands) > 0 {
		return fault(b.line, "`%s` still runs in terminal %d: use another, or interrupt it with a line ^C", t.running, script.terminal)
	}
	for n, c := range script.commands {
		last := n == len(script.commands)-1
		if err := t.begin(c.text); err != nil {
			return fault(c.line, "`%s`: %v", c.text, err)
		}
		if last && script.background {
			if output, err := t.see(ctx, c.output); err != nil {
				return fault(c.line, "`%s` does not print what is shown: %v\n%s", c.text, err, compared(c.output, output))
			}
			continue
		}
		output, code, err := t.end(ctx)
		want := 0
		if last {
			want = script.exit
		}
		switch {
		case err != nil:
			return fault(c.line, "`%s`: %v\n%s", c.text, err, compared(c.output, output))
		case code != want:
			return fault(c.line, "`%s` ends with the exit code %d, expected %d\n%s", c.text, code, want, compared(c.output, output))
		case len(trimmed(c.output)) > 0 && !shows(c.output, output):
			return fault(c.line, "`%s` does not print what is shown\n%s", c.text, compared(c.output, output))
		}
	}
	return nil
}

// compared tells what was printed, and the first line that was not.
func compared(shown []string, output string) string {
	if len(trimmed(shown)) == 0 {
		return "printed:\n" + quoteLines(output)
	}
	missing := firstMissing(trimmed(shown), output)
	if missing == "" {
		return "more was printed than is shown:\n" + quoteLines(output)
	}
	return "shown, but not printed after the lines before it:\n" + quoteLines(missing) + "printed:\n" + quoteLines(output)
}

func quoteLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(lined(text)) {
		b.WriteString("\t" + line)
	}
	return b.String()
}

// end closes the terminals, and takes down the clusters that are left. Leaving one is a fault of a page that else has none.
func (s *session) end(ctx context.Context, sound bool) []Problem {
	var failed []error
	for _, number := range slices.Sorted(maps.Keys(s.terminals)) {
		ctx, cancel := context.WithTimeoutCause(ctx, lastPatience, fmt.Errorf("it still runs after %s", lastPatience))
		failed = append(failed, s.terminals[number].close(ctx))
		cancel()
	}
	left, _ := filepath.Glob(filepath.Join(s.state, "clusters", "*"))
	for _, cluster := range left {
		name := filepath.Base(cluster)
		if sound {
			failed = append(failed, fmt.Errorf("the page leaves the cluster %s up: let it end with make down", name))
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
