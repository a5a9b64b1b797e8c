// Package gocmd runs the go command: in one folder, with an environment that
// the user's own settings do not change, stoppable together with the compilers
// it starts, and with errors that a person can read.
package gocmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is how long an interrupted go command may take to remove its own
// temporary files before it is killed.
const patience = 5 * time.Second

// Go is a go command that is ready to be run in a folder.
type Go struct {
	// Path is the executable; empty means the first go on PATH.
	Path string
	// Dir is the folder it runs in: that of the module it acts on.
	Dir string
	// Env overrides the process's own environment, by name.
	Env map[string]string
}

// With returns a copy whose environment has one more setting.
func (g Go) With(name, value string) Go {
	env := maps.Clone(g.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[name] = value
	g.Env = env
	return g
}

// Run runs the go command and returns its standard output. Each line of its
// standard error is given to onLine while it runs; lines for which onLine says
// false, or all of them where onLine is nil, become part of the error, which is
// an *Error unless the command could not be started or ctx ended.
//
// When ctx ends, the go command and every process below it are interrupted, and
// killed when that does not end them; Run returns context.Cause(ctx).
func (g Go) Run(ctx context.Context, onLine func(line string) (consumed bool), args ...string) ([]byte, error) {
	path := g.Path
	if path == "" {
		path = "go"
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = g.Dir
	cmd.Env = environ(os.Environ(), g.Env)
	// A process group of its own: one signal reaches the compilers as well, and
	// a terminal's Ctrl-C reaches them through us only, in our order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = patience

	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	messages := &lineWriter{onLine: onLine}
	cmd.Stderr = messages

	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("there is no go command on PATH: install Go from https://go.dev/dl")
		}
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		// A compiler may outlive the go command that started it. ESRCH says that
		// none does.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return nil, context.Cause(ctx)
	}
	messages.flush()
	if err != nil {
		return nil, &Error{Args: args, Messages: messages.kept, Err: err}
	}
	return stdout.Bytes(), nil
}

// environ is base with the overrides in place of the settings of the same name.
func environ(base []string, overrides map[string]string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		_, overridden := overrides[name]
		return overridden
	})
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		env = append(env, name+"="+overrides[name])
	}
	return env
}

// lineWriter hands on what is written to it line by line and keeps what nobody
// consumes.
type lineWriter struct {
	onLine  func(string) bool
	partial []byte
	kept    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		line, rest, found := bytes.Cut(w.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.line(string(line))
		w.partial = rest
	}
}

func (w *lineWriter) flush() {
	if len(w.partial) > 0 {
		w.line(string(w.partial))
		w.partial = nil
	}
}

func (w *lineWriter) line(line string) {
	line = strings.TrimRight(line, "\r")
	if w.onLine != nil && w.onLine(line) {
		return
	}
	w.kept = append(w.kept, line)
}

// Error says that the go command ran and failed.
type Error struct {
	// Args are the arguments it was given.
	Args []string
	// Messages are the lines of its standard error, without the progress lines.
	Messages []string
	// Err is how it ended, an *exec.ExitError.
	Err error
}

// shown is how many lines of a failed go command an error repeats: the first
// ones name the cause, what follows mostly repeats it.
const shown = 8

// Error is one sentence, followed by the first lines that the go command wrote.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "go %s failed (%v)", subcommand(e.Args), e.Err)
	lines := slices.DeleteFunc(slices.Clone(e.Messages), func(line string) bool { return strings.TrimSpace(line) == "" })
	more := len(lines) - shown
	for _, line := range lines[:min(shown, len(lines))] {
		b.WriteString("\n    " + line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n    ... and %d more lines", more)
	}
	return b.String()
}

// Unwrap gives access to the exit status.
func (e *Error) Unwrap() error { return e.Err }

// Text is everything that the go command said, for those who look for a cause.
func (e *Error) Text() string { return strings.Join(e.Messages, "\n") }

// subcommand is what was done to what: the arguments that are no flags.
func subcommand(args []string) string {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	return strings.Join(words, " ")
}
