package markdown

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// terminal is a bash session.
type terminal struct {
	shell  *exec.Cmd
	stdin  io.WriteCloser
	output *stream
	folder string // of the files that hold its commands
	count  int
	// running is the command in the background, if any.
	running string
}

// stream is what a session prints. It grows, and ends.
type stream struct {
	sync.Mutex
	text  []byte // what nobody has taken yet
	ended bool
	news  chan struct{} // closed when there is more
}

// marker surrounds the exit code that the session prints after a command.
const marker = "\x1e"

func openTerminal(ctx context.Context, directory, folder string, environment []string) (*terminal, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	shell := exec.Command("bash", "--noprofile", "--norc")
	shell.Dir, shell.Env = directory, environment
	shell.Stdout, shell.Stderr = writer, writer
	// A group of its own, so that a command can be interrupted as Ctrl-C does it.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := shell.StdinPipe()
	if err != nil {
		reader.Close()
		return nil, err
	}
	if err := shell.Start(); err != nil {
		reader.Close()
		return nil, fmt.Errorf("start bash: %w", err)
	}
	t := &terminal{shell: shell, stdin: stdin, folder: folder, output: &stream{news: make(chan struct{})}}
	go t.output.read(reader)
	// Ctrl-C ends a command, not the shell. It must not come before this is done.
	if err := t.begin("trap : INT"); err != nil {
		return nil, err
	}
	_, _, err = t.end(ctx)
	return t, err
}

func (s *stream) read(from io.ReadCloser) {
	defer from.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		s.Lock()
		s.text = append(s.text, bytes.ReplaceAll(chunk[:n], []byte("\r"), nil)...)
		s.ended = err != nil
		close(s.news)
		s.news = make(chan struct{})
		s.Unlock()
		if err != nil {
			return
		}
	}
}

var (
	errShellEnded   = errors.New("the shell has ended")
	errCommandEnded = errors.New("the command has ended")
	errOtherwise    = errors.New("it prints something else")
)

// until waits until a function says how much of the output it has found, and takes that; -1 is not yet.
func (s *stream) until(ctx context.Context, found func(text string) (int, error)) (string, error) {
	for {
		s.Lock()
		text, ended, news := string(s.text), s.ended, s.news
		n, err := found(text)
		if err == nil && n >= 0 {
			s.text = s.text[n:]
		}
		s.Unlock()
		switch {
		case err != nil:
			return text, err
		case n >= 0:
			return text[:n], nil
		case ended:
			return text, errShellEnded
		}
		select {
		case <-news:
		case <-ctx.Done():
			return text, context.Cause(ctx)
		}
	}
}

// begin lets the session begin with a command, from a file, so that the command can't read what is typed next.
func (t *terminal) begin(command string) error {
	t.count++
	file := filepath.Join(t.folder, "command-"+strconv.Itoa(t.count))
	if err := os.WriteFile(file, []byte(command+"\n"), 0o600); err != nil {
		return err
	}
	t.running = command
	_, err := fmt.Fprintf(t.stdin, ". '%s' </dev/null; printf '%s%%d%s' $?\n", file, marker, marker)
	if err != nil {
		return errShellEnded
	}
	return nil
}

// end waits until the command has ended, and returns what it printed since, and its exit code.
func (t *terminal) end(ctx context.Context) (output string, code int, err error) {
	text, err := t.output.until(ctx, func(text string) (int, error) {
		_, rest, begun := strings.Cut(text, marker)
		code, _, ends := strings.Cut(rest, marker)
		if !begun || !ends {
			return -1, nil
		}
		return strings.Index(text, marker) + len(marker) + len(code) + len(marker), nil
	})
	if err != nil {
		return text, 0, err
	}
	t.running = ""
	output, status, _ := strings.Cut(text, marker)
	code, err = strconv.Atoi(strings.TrimSuffix(status, marker))
	return output, code, err
}

// see waits until the command in the background has printed lines.
func (t *terminal) see(ctx context.Context, lines []string) (string, error) {
	return t.output.until(ctx, func(text string) (int, error) {
		text, _, ended := strings.Cut(text, marker)
		n := appears(lines, text)
		switch {
		case n >= 0:
			return n, nil
		case ended:
			return -1, errCommandEnded
		case contradicted(lines, text):
			return -1, errOtherwise
		}
		return -1, nil
	})
}

// interrupt does what Ctrl-C does.
func (t *terminal) interrupt() error {
	return syscall.Kill(-t.shell.Process.Pid, syscall.SIGINT)
}

// close ends the session. A command that does not heed Ctrl-C until the context ends is killed.
func (t *terminal) close(ctx context.Context) error {
	var failed error
	if t.running != "" {
		_ = t.interrupt()
		if _, _, err := t.end(ctx); err != nil {
			failed = fmt.Errorf("`%s` does not end after Ctrl-C: %w", t.running, err)
			_ = syscall.Kill(-t.shell.Process.Pid, syscall.SIGKILL)
		}
	}
	t.stdin.Close()
	_ = t.shell.Wait()
	return failed
}
