package framework

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	process "github.com/example/operator-testbed/e2e/confinement"
)

const (
	// mostOutput is how much is kept of what a program of [Scope.Execute] prints. If it prints more, the middle is dropped.
	mostOutput = 1 << 20
	// toEnd is how long its output is waited for when it has ended.
	toEnd = 5 * time.Second
)

// Execute runs a program, given by its absolute path, and returns its output and its exit code, which is -1 if a signal has stopped it.
//
// The program has the same origin as the operator under test, so it is confined in the same way, unless the operator is the caller's own:
// it starts in an empty directory, the only one to which it may write, it can't connect to any port, and env is its whole environment,
// apart from PATH, HOME and TMPDIR.
func (s *Scope) Execute(ctx context.Context, program string, args, env []string) (output string, exit int) {
	s.Helper()
	own, confined, err := confinement()
	s.must(err)
	private, err := filepath.EvalSymlinks(s.TempDir())
	s.must(err)
	env = slices.Concat([]string{"PATH=/usr/bin:/bin", "HOME=" + private, "TMPDIR=" + private}, env)
	line := append([]string{program}, args...)
	if !own {
		rules := process.Rules{
			Write: []string{private}, Env: env,
			FileSize: confined.FileSize, Memory: confined.Memory, Optional: confined.Optional,
		}
		line, err = rules.CommandLine(program, args...)
		s.must(err)
	}
	printed := &limited{half: mostOutput / 2}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir, command.Env, command.Stdout, command.Stderr, command.WaitDelay = private, env, printed, printed, toEnd
	err = command.Run()
	if ctx.Err() != nil {
		s.Fatalf("running %s: %v", filepath.Base(program), context.Cause(ctx))
	}
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) && !errors.Is(err, exec.ErrWaitDelay) {
		s.Fatalf("running %s: %v", filepath.Base(program), err)
	}
	return printed.String(), command.ProcessState.ExitCode()
}

// limited keeps how an output starts and how it ends: as many bytes of each.
type limited struct {
	half        int
	first, last []byte // last has the last bytes at its end, and may have more than half
	dropped     int
}

// Write takes everything.
func (l *limited) Write(p []byte) (int, error) {
	split := min(len(p), l.half-len(l.first))
	l.first = append(l.first, p[:split]...)
	l.last = append(l.last, p[split:]...)
	if surplus := len(l.last) - l.half; surplus > l.half { // not each time, because it moves the others
		l.last = append(l.last[:0], l.last[surplus:]...)
		l.dropped += surplus
	}
	return len(p), nil
}

// String returns both, with a line between them that says how much is missing.
func (l *limited) String() string {
	surplus := max(len(l.last)-l.half, 0)
	if l.dropped+surplus == 0 {
		return string(l.first) + string(l.last)
	}
	return fmt.Sprintf("%s\n(%d bytes left out)\n%s", l.first, l.dropped+surplus, l.last[surplus:])
}
