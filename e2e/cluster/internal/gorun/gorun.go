// Package gorun runs the command of another module of this repository with `go run`. It passes on the command's progress as it is
// printed, and returns the line that the command prints, or the message that it fails with.
//
// The message starts with the name of the command's directory and a colon. With -until-eof, the command exits when its standard input
// is closed. See kind/kubernetes.
package gorun

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// pace is when to report that a silent command is being started, and how long an interrupted one may take to clean up.
type pace struct {
	first, next, patience time.Duration
}

// The command itself waits five seconds for what it runs.
var usual = pace{first: 900 * time.Millisecond, next: 5 * time.Second, patience: 10 * time.Second}

// errNoGo is the error where there is no go command.
var errNoGo = errors.New("Go is not on PATH: install Go 1.26 or newer from https://go.dev/dl and put its bin directory on PATH") //nolint:staticcheck // a name

// Line runs the command in a directory, with the args, and returns the line that it prints on standard output. What it prints on
// standard error goes to progress, except for the message that it fails with, which is the error.
//
// When ctx is done, the command and everything that it has started are interrupted, and Line returns the cause. When this process
// exits or is killed, the command exits too.
func Line(ctx context.Context, progress io.Writer, directory string, args ...string) (string, error) {
	return line(ctx, progress, directory, usual, args...)
}

func line(ctx context.Context, progress io.Writer, directory string, p pace, args ...string) (string, error) {
	// With -trimpath, as make compiles everything, or the standard library would be compiled a second time.
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", directory, "run", "-trimpath", ".", "-until-eof"}, args...)...)
	// A process group of its own: one signal reaches the go command, what it runs
	// and its compilers, and a terminal's Ctrl-C reaches them through us only.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = p.patience

	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, written := io.Pipe()
	cmd.Stderr = written
	// Nothing is ever written to it: Wait closes it, and so does our own end.
	if _, err := cmd.StdinPipe(); err != nil {
		return "", err
	}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return "", errNoGo
	} else if err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = written.Close() // always nil
	}()
	message := listen(stderr, progress, directory, p)
	err := <-ended
	if ctx.Err() != nil {
		// What outlived the go command; mostly nothing did.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return "", context.Cause(ctx)
	}
	printed := strings.TrimSpace(stdout.String())
	switch {
	case err != nil && strings.HasPrefix(message, name(directory)):
		return "", errors.New(strings.TrimPrefix(message, name(directory)))
	case err != nil && message != "":
		return "", fmt.Errorf("go run in %s: %w: %s", directory, err, message)
	case err != nil:
		return "", fmt.Errorf("go run in %s: %w", directory, err)
	case printed == "":
		return "", fmt.Errorf("go run in %s printed nothing", directory)
	}
	return printed, nil
}

// name begins the message that the command in a directory fails with.
func name(directory string) string { return filepath.Base(directory) + ": " }

// exitStatus is what the go command says, last of all, of a command that failed.
var exitStatus = regexp.MustCompile(`^exit status \d+$`)

// listen passes on the lines of the command's standard error as they come, except for the message that it fails with, which it
// returns; or else the last line. As long as the command itself has said nothing, it says from time to time what is going on: the go
// command compiles without a word, and only says that it downloads another Go.
func listen(stderr io.Reader, progress io.Writer, directory string, p pace) (message string) {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for reader := bufio.NewReader(stderr); ; {
			line, err := reader.ReadString('\n')
			if line != "" {
				lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	begin := time.Now()
	silence := time.NewTimer(p.first)
	defer silence.Stop()
	for {
		select {
		case line, more := <-lines:
			switch {
			case !more:
				return message
			case exitStatus.MatchString(line):
			case strings.HasPrefix(message, name(directory)):
				message += "\n" + line
			case strings.HasPrefix(line, name(directory)):
				message = line
			default:
				message = line
				if !strings.HasPrefix(line, "go: ") {
					silence.Stop()
				}
				fmt.Fprintln(progress, line) // who does not want to know does not stop the work
			}
		case <-silence.C:
			fmt.Fprintf(progress, "starting the program in %s, which Go compiles the first time: %s\n", directory, time.Since(begin).Round(time.Second))
			silence.Reset(p.next)
		}
	}
}
