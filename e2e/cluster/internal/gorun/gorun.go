// Package gorun runs the command of another module of this repository with
// `go run`, and passes on what it tells: its progress as it comes, the line that
// it prints, the sentence that it fails with.
//
// The command calls itself by the name of its folder, begins the message that it
// fails with by that name and a colon, and ends when its standard input does,
// which it is asked for by -until-eof. See kind/kubernetes.
package gorun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pace says when somebody is told that a silent command is being started, and
// how long an interrupted one may take to put things in order.
type pace struct {
	first, next, patience time.Duration
}

// The command itself waits five seconds for what it runs.
var usual = pace{first: 900 * time.Millisecond, next: 5 * time.Second, patience: 10 * time.Second}

// errNoGo says that there is no go command.
var errNoGo = errors.New("Go is not on PATH: install Go 1.26 or newer from https://go.dev/dl and put its bin folder on PATH") //nolint:staticcheck // a name

// Line runs the command in a folder, with the args, and returns the line that it prints on
// standard output. What it tells on standard error goes to progress, but for the
// message that it fails with, which is the error.
//
// When ctx ends, the command and all that it started are interrupted, and Line
// returns the cause. When this process ends in whatever way, the command ends too.
func Line(ctx context.Context, progress io.Writer, folder string, args ...string) (string, error) {
	return line(ctx, progress, folder, usual, args...)
}

func line(ctx context.Context, progress io.Writer, folder string, p pace, args ...string) (string, error) {
	// With -trimpath, as make compiles everything, or the standard library would be compiled a second time.
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", folder, "run", "-trimpath", ".", "-until-eof"}, args...)...)
	// A process group of its own: one signal reaches the go command, what it runs
	// and its compilers, and a terminal's Ctrl-C reaches them through us only.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = p.patience

	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	told := &listener{progress: progress, failing: filepath.Base(folder) + ": "}
	cmd.Stderr = told
	// Nothing is ever written to it: Wait closes it, and so does our own end.
	if _, err := cmd.StdinPipe(); err != nil {
		return "", err
	}

	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return "", errNoGo
	} else if err != nil {
		return "", err
	}
	// The go command compiles without a word.
	begin := time.Now()
	beats := every(p, func() {
		told.whileSilent("start the command in %s, which is compiled if it is new, %s", folder, time.Since(begin).Round(time.Second))
	})
	err := cmd.Wait()
	beats()
	if ctx.Err() != nil {
		// What outlived the go command; mostly nothing did.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return "", context.Cause(ctx)
	}
	told.flush()
	if err != nil {
		return "", told.failure(fmt.Errorf("go run in %s: %w", folder, err))
	}
	printed := strings.TrimSpace(stdout.String())
	if printed == "" {
		return "", fmt.Errorf("go run in %s printed nothing", folder)
	}
	return printed, nil
}

// every calls beat from time to time until the function that it returns is
// called, which waits for a beat that is under way.
func every(p pace, beat func()) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(p.first)
		defer timer.Stop()
		for {
			select {
			case <-stop:
				return
			case <-timer.C:
				beat()
				timer.Reset(p.next)
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}
