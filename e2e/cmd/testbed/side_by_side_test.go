package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
)

// sideBySide is scripts/side-by-side, two at a time, with a script for these names: one that is quick, one that stays until it is
// interrupted, and one that fails when that one runs. What stays holds the named pipe open that is returned.
func sideBySide(t *testing.T, names ...string) (cmd *exec.Cmd, pipe string) {
	t.Helper()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	pipe = filepath.Join(directory, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(directory, "script")
	if err := os.WriteFile(script, []byte(`#!/usr/bin/env bash
here=$(dirname "$0")
case $1 in
quick) echo "quick is here" ;;
stays)
	trap 'echo "stays was interrupted"; exit 130' INT TERM
	exec 4>"$here/pipe"
	echo "     1 s  testing stays ... (TestOne)"
	echo runs >&4
	while :; do sleep 0.1; done
	;;
fails)
	read -r <"$here/pipe"
	echo "fails has failed" >&2
	exit 3
	;;
esac
`), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "side-by-side"), append([]string{"2", script}, names...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+directory)
	return cmd, pipe
}

// What runs side by side is shown when it ends, and interrupted when another one fails.
func TestSideBySide(t *testing.T) {
	cmd, _ := sideBySide(t, "quick", "stays", "fails")
	output, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("expected the exit code of the one that failed, got %v", err)
	}
	want := ""
	for _, shown := range [][2]string{{"quick", "is here"}, {"fails", "has failed"}, {"stays", "was interrupted"}} {
		want += fmt.Sprintf("\n== %[1]s\n%[1]s %[2]s\n", shown[0], shown[1])
	}
	if string(output) != want {
		t.Errorf("expected\n%s\ngot\n%s", want, output)
	}
}

func TestSideBySideIsStopped(t *testing.T) {
	for name, signal := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "SIGTERM": syscall.SIGTERM, "kill -9": os.Kill} {
		t.Run(name, func(t *testing.T) {
			cmd, pipe := sideBySide(t, "stays")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			held, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			reader := bufio.NewReader(held)
			if line, err := reader.ReadString('\n'); err != nil || strings.TrimSpace(line) != "runs" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			// It ends when nobody holds the pipe open any more.
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
			_ = cmd.Wait()
		})
	}
}
