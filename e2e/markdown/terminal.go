package markdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// terminal is a bash session.
type terminal struct {
	number    int
	shell     *exec.Cmd
	stdin     io.WriteCloser
	output    <-chan string // what is printed; closed when the session has ended
	pending   string        // what was printed and is not part of a result yet
	directory string        // of the files that hold its commands
	count     int
	// running is the command in the background, if any.
	running string
}

// marker surrounds the exit code that the session prints after a command.
const marker = "\x1e"

// buffered is how many pieces of output can wait until somebody looks at them, so that a command in the background is not held up.
const buffered = 1 << 16

func openTerminal(ctx context.Context, number int, working, directory string, environment []string) (*terminal, error) {
	shell := exec.Command("bash", "--noprofile", "--norc")
	shell.Dir, shell.Env = working, environment
	// A group of its own, so that a command can be interrupted as Ctrl-C does it.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, inErr := shell.StdinPipe()
	stdout, outErr := shell.StdoutPipe()
	shell.Stderr = shell.Stdout
	if err := errors.Join(os.MkdirAll(directory, 0o755), inErr, outErr, shell.Start()); err != nil {
		return nil, fmt.Errorf("start bash: %w", err)
	}
	output := make(chan string, buffered)
	go func() {
		defer close(output)
		for chunk := make([]byte, 32<<10); ; {
			n, err := stdout.Read(chunk)
			output <- strings.ReplaceAll(string(chunk[:n]), "\r", "")
			if err != nil {
				return
			}
		}
	}()
	t := &terminal{number: number, shell: shell, stdin: stdin, output: output, directory: directory}
	// Ctrl-C stops a command, not the shell. It must not come before this is done.
	err := t.start("trap : INT")
	if err == nil {
		err = t.waitForExit(ctx, 0, nil)
	}
	return t, err
}

var (
	errShellExited   = errors.New("the shell has exited")
	errCommandExited = errors.New("the command has exited")
	errOtherwise     = errors.New("it prints something else")
)

// take waits until a function says how much of the output it has found, and takes that; -1 is not yet.
func (t *terminal) take(ctx context.Context, found func(text string) (int, error)) (string, error) {
	for {
		n, err := found(t.pending)
		if err != nil {
			return t.pending, err
		}
		if n >= 0 {
			taken := t.pending[:n]
			t.pending = t.pending[n:]
			return taken, nil
		}
		select {
		case more, open := <-t.output:
			if !open {
				return t.pending, errShellExited
			}
			t.pending += more
		case <-ctx.Done():
			return t.pending, context.Cause(ctx)
		}
	}
}

// start starts a command, from a file, so that the command can't read what is typed next.
func (t *terminal) start(command string) error {
	t.count++
	t.running = command
	file := filepath.Join(t.directory, "command-"+strconv.Itoa(t.count))
	if err := os.WriteFile(file, []byte(command+"\n"), 0o600); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(t.stdin, ". '%s' </dev/null; printf '%s%%d%s' $?\n", file, marker, marker); err != nil {
		return fmt.Errorf("`%s`: %w", command, errShellExited)
	}
	return nil
}

// anyCode is for a command whose exit code does not matter.
const anyCode = -1

// waitForExit waits until the command has exited, and compares its exit code and, if any is shown, what it has printed since.
func (t *terminal) waitForExit(ctx context.Context, want int, shown []string) error {
	text, err := t.take(ctx, func(text string) (int, error) {
		printed, rest, _ := strings.Cut(text, marker)
		code, _, exited := strings.Cut(rest, marker)
		if !exited {
			return -1, nil
		}
		return len(printed) + len(code) + 2*len(marker), nil
	})
	output, status, _ := strings.Cut(text, marker)
	if err != nil {
		return fmt.Errorf("`%s` does not exit: %w\n%s", t.running, err, compared(shown, output))
	}
	command := t.running
	t.running = ""
	code, err := strconv.Atoi(strings.TrimSuffix(status, marker))
	switch {
	case err != nil:
		return err
	case want != anyCode && code != want:
		return fmt.Errorf("`%s` exits with the code %d, expected %d\n%s", command, code, want, compared(shown, output))
	case len(trimmed(shown)) > 0 && !shows(shown, output):
		return fmt.Errorf("`%s` does not print what is shown\n%s", command, compared(shown, output))
	}
	return nil
}

// waitForOutput waits until the command in the background has printed lines.
func (t *terminal) waitForOutput(ctx context.Context, shown []string) error {
	output, err := t.take(ctx, func(text string) (int, error) {
		text, _, exited := strings.Cut(text, marker)
		n := appears(shown, text)
		switch {
		case n >= 0:
			return n, nil
		case exited:
			return -1, errCommandExited
		case contradicted(shown, text):
			return -1, errOtherwise
		}
		return -1, nil
	})
	if err != nil {
		return fmt.Errorf("`%s` does not print what is shown: %w\n%s", t.running, err, compared(shown, output))
	}
	return nil
}

// resume does what a block shows of the command in the background, before its own commands.
func (t *terminal) resume(ctx context.Context, script script) error {
	if (script.interrupted || len(script.more) > 0) && t.running == "" {
		return fmt.Errorf("no command runs in the background of terminal %d", t.number)
	}
	if len(script.more) > 0 {
		if err := t.waitForOutput(ctx, script.more); err != nil {
			return err
		}
	}
	if script.interrupted {
		if err := t.interrupt(); err != nil {
			return fmt.Errorf("interrupt `%s`: %w", t.running, err)
		}
		return t.waitForExit(ctx, anyCode, script.after)
	}
	if t.running != "" && len(script.commands) > 0 {
		return fmt.Errorf("`%s` is still running in terminal %d: use another, or interrupt it with a line ^C", t.running, t.number)
	}
	return nil
}

// interrupt does what Ctrl-C does.
func (t *terminal) interrupt() error {
	return syscall.Kill(-t.shell.Process.Pid, syscall.SIGINT)
}

// close ends the session. A command that does not exit on Ctrl-C until the context ends is killed.
func (t *terminal) close(ctx context.Context) (err error) {
	if t.running != "" {
		_ = t.interrupt()
		if err = t.waitForExit(ctx, anyCode, nil); err != nil {
			_ = syscall.Kill(-t.shell.Process.Pid, syscall.SIGKILL)
		}
	}
	t.stdin.Close()
	_ = t.shell.Wait()
	return err
}
