package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster"
)

// TestProgressPassesSignalsOn stops scripts/with-progress in each way, and
// expects that what it runs ends too, with what that started.
func TestProgressPassesSignalsOn(t *testing.T) {
	t.Parallel()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	catchable()
	for _, test := range []struct {
		signal syscall.Signal
		code   int // -1: ended by the signal itself
	}{
		{syscall.SIGINT, 130},
		{syscall.SIGTERM, 143},
		{syscall.SIGHUP, 129},
		{syscall.SIGKILL, -1},
	} {
		t.Run(test.signal.String(), func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			// A command with a child, as the Go command has compilers.
			cmd := exec.Command(filepath.Join(root, "scripts", "with-progress"), "working", "sh", "-c", "sleep 1000 & echo $! $$; wait")
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatalf("the command did not start: %v %s", err, &stderr)
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			// The pipe ends when everybody who could write to it has ended.
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, stdout)
			}()
			select {
			case <-ended:
			case <-time.After(10 * time.Minute):
				t.Errorf("after the signal %v these are still there: %s", test.signal, alive(t, line))
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("%s is left", left[0].Name())
			}
		})
	}
}

// catchable lets the scripts that a test starts catch each signal. What is ignored when it is started a shell can't catch, as SIGHUP under
// nohup and SIGINT in a script's background job. What is caught here, a child begins with in its default disposition.
func catchable() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// TestProgressOutlivesItsTerminal hangs scripts/with-progress and what it runs up where nohup has hangups ignored.
func TestProgressOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goOn := filepath.Join(t.TempDir(), "go-on")
	cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$@"`, "sh", filepath.Join(root, "scripts", "with-progress"), "working",
		"sh", "-c", "echo $$; until [ -e '"+goOn+"' ]; do sleep 0.1; done; echo finished")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stdout)
	said.Scan()
	job, err := strconv.Atoi(said.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range []int{cmd.Process.Pid, job} {
		if err := syscall.Kill(process, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said.Scan(); said.Text() != "finished" {
		t.Errorf("expected that a command under nohup finishes after a hangup, it said %q", said.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestProgressEndsBeforeTheLastWords makes scripts/with-progress slow to show the errors of a command that has ended: by then, it has said
// for the last time that the command is running.
func TestProgressEndsBeforeTheLastWords(t *testing.T) {
	t.Parallel()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "grep"), []byte("#!/bin/sh\nsleep 2\nexec cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "scripts", "with-progress"), "working", "sh", "-c", "echo one >&2; echo two >&2; exit 3")
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TERM=dumb")
	output, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.HasSuffix(string(output), "one\ntwo\n") {
		t.Errorf("expected exit code 3 and the errors at the end; last seen: %d and\n%s", code, output)
	}
}

// alive returns those of the process ids in a line that are in use, and ends
// them.
func alive(t *testing.T, line string) []string {
	t.Helper()
	var found []string
	for field := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			found = append(found, field)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}
