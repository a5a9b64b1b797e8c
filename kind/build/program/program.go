// Package program runs other programs, such as the go command: they can be
// stopped together with what they start, and fail with errors that a person can
// read.
package program

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Program is a program that is ready to be run.
type Program struct {
	// Path is the executable, or its name on PATH.
	Path string
	// Dir is the directory it runs in; empty means that of this process.
	Dir string
	// Env are settings such as GOOS=linux, which replace those of this process.
	Env []string
	// OnLine gets each line of standard error while the program runs. Lines for
	// which it reports false become part of the error; without it, all do.
	OnLine func(line string) (consumed bool)
	// Patience is how long it may take to remove its own temporary files when it is
	// interrupted, before it is killed; zero means five seconds.
	Patience time.Duration
}

// Output runs the program and returns its standard output. The error is an
// *Error, unless ctx is done: then the program and every process below it are
// interrupted, or killed if that does not stop them, and Output returns
// context.Cause(ctx).
func (p Program) Output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	// A process group of its own: one signal reaches the compilers as well, and
	// a terminal's Ctrl-C reaches them through us only, in our order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = cmp.Or(p.Patience, 5*time.Second)
	messages := &lines{consume: p.OnLine}
	cmd.Stderr = messages
	stdout, err := cmd.Output()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			// A compiler may outlive the go command that started it. ESRCH means
			// that none does.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return nil, context.Cause(ctx)
	}
	if err != nil {
		words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
		command := strings.Join(append([]string{filepath.Base(p.Path)}, words...), " ")
		return nil, &Error{Command: command, Messages: messages.kept.String() + string(messages.partial), Err: err}
	}
	return stdout, nil
}

// Output runs the program at a path, or of a name on PATH.
func Output(ctx context.Context, path string, args ...string) ([]byte, error) {
	return Program{Path: path}.Output(ctx, args...)
}

// lines passes on what is written to it line by line, and keeps what is not
// consumed.
type lines struct {
	consume func(string) bool
	kept    strings.Builder
	partial []byte
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if l.consume == nil || !l.consume(string(line)) {
			fmt.Fprintf(&l.kept, "%s\n", line)
		}
		l.partial = rest
	}
}

// Error reports that a program could not be started, or failed.
type Error struct {
	// Command is what was run, without flags.
	Command string
	// Messages is its standard error, without the lines that OnLine consumed.
	Messages string
	// Err says how it failed: mostly an *exec.ExitError.
	Err error
}

// shown is how many lines of a failed program an error repeats: the first ones
// name the cause, what follows mostly repeats it.
const shown = 8

// Error is one sentence, followed by the first lines that the program printed.
func (e *Error) Error() string {
	messages := strings.FieldsFunc(e.Messages, func(r rune) bool { return r == '\n' })
	if more := len(messages) - shown; more > 0 {
		messages = append(messages[:shown], fmt.Sprintf("... and %d more lines", more))
	}
	return strings.Join(append([]string{fmt.Sprintf("%s failed (%v)", e.Command, e.Err)}, messages...), "\n    ")
}

// Unwrap gives access to the exit status.
func (e *Error) Unwrap() error { return e.Err }
