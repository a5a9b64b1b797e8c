package framework

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	process "github.com/example/operator-testbed/e2e/confinement"
)

const (
	// mostOutput is how much a program of [Scope.Execute] may print until the rest is dropped.
	mostOutput = 1 << 20
	// toEnd is how long its output is waited for when it has ended.
	toEnd = 5 * time.Second
)

// Execute runs a program, given by its absolute path, and returns what it prints and its exit code, which is -1 if a signal has ended it.
//
// The program comes from where the operator under test does. So it is confined as that one is, unless the operator is the caller's own: it
// starts in an empty directory, the only one that it may write to, it reaches no port, and env is all of its environment besides a PATH, a
// HOME and a TMPDIR.
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
	printed := &limited{left: mostOutput}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir, command.Env, command.Stdout, command.Stderr, command.WaitDelay = private, env, printed, printed, toEnd
	err = command.Run()
	if ctx.Err() != nil {
		s.Fatalf("running %s: %v", filepath.Base(program), context.Cause(ctx))
	}
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) && !errors.Is(err, exec.ErrWaitDelay) {
		s.Fatalf("running %s: %v", filepath.Base(program), err)
	}
	return printed.kept.String(), command.ProcessState.ExitCode()
}

// limited keeps the first bytes that are written to it.
type limited struct {
	kept bytes.Buffer // not embedded, because its ReadFrom does not stop at the limit
	left int
}

// Write takes everything.
func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(len(p), l.left)]
	l.left -= len(kept)
	l.kept.Write(kept)
	return len(p), nil
}
