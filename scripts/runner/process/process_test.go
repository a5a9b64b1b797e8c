package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/scripts/runner/process"
)

// role makes the test's executable a program that starts a command: its value is the command for sh. The value of graceRole is the grace of
// the program's guard.
const (
	role      = "PROCESS_TEST_COMMAND"
	graceRole = "PROCESS_TEST_GRACE"
)

// patient is the grace of a guard that must not kill what is about to stop, however slow the machine is.
const patient = 10 * time.Minute

func TestMain(m *testing.M) {
	process.Become()
	if command := os.Getenv(role); command != "" {
		os.Exit(starter(command))
	}
	os.Exit(m.Run())
}

// starter starts a command, and interrupts it when it is interrupted itself.
func starter(command string) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	grace, err := time.ParseDuration(os.Getenv(graceRole))
	if err != nil {
		panic(err)
	}
	guard, err := process.NewGuard(grace)
	if err != nil {
		panic(err)
	}
	job, err := guard.Start(process.Command{Args: []string{"sh", "-c", command}, Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		panic(err)
	}
	select {
	case <-job.Ended():
	case <-interrupted:
		job.Interrupt(time.Minute, nil)
	}
	code, _, _ := job.Finish()
	return code
}

// start starts a program that starts the command, whose first line of output it waits for. The rest of it ends when every process that
// could write it has ended.
func start(t *testing.T, command string, grace time.Duration) (program *exec.Cmd, output *bufio.Reader) {
	t.Helper()
	program = exec.Command(os.Args[0])
	program.Env = append(os.Environ(), role+"="+command, graceRole+"="+grace.String())
	program.Stderr = os.Stderr
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Wait() })
	output = bufio.NewReader(stdout)
	if line, err := output.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the command did not start: %q, %v", line, err)
	}
	return program, output
}

// A command ends with the program that has started it, in whatever way that ends, and what the command has started ends too: here, a
// process that ignores SIGINT.
func TestEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		signal  os.Signal
		grace   time.Duration
		want    string
	}{
		"interrupted":                         {"(trap '' INT; exec sleep 1000) & echo started; wait", os.Interrupt, patient, ""},
		"killed":                              {"(trap '' INT; exec sleep 1000) & echo started; wait", os.Kill, patient, ""},
		"killed, with one that ends in order": {"trap 'echo cleaned up; exit' INT; echo started; while :; do sleep 0.1; done", os.Kill, patient, "cleaned up\n"},
		"killed, with one that does not stop": {"trap '' INT; echo started; while :; do sleep 0.1; done", os.Kill, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, output := start(t, test.command, test.grace)
			if err := program.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(output); err != nil || string(rest) != test.want {
				t.Errorf("expected the output %q, got %q, %v", test.want, rest, err)
			}
		})
	}
}

// What a command leaves running in its group does not outlive it, and is reported.
func TestFinishEndsWhatIsLeft(t *testing.T) {
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// Until it is executed, the process in the background is a copy of the shell, with the shell's arguments.
	const command = `sleep 1000 & until [ "$(ps -o args= -p $!)" = "sleep 1000" ]; do :; done; exit 3`
	job, err := guard.Start(process.Command{Args: []string{"sh", "-c", command}, Env: os.Environ(), Stdout: writer, Stderr: writer})
	if err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	code, _, killed := job.Finish()
	if code != 3 {
		t.Errorf("expected exit code 3, got %d", code)
	}
	if len(killed) != 1 || killed[0].Arguments != "sleep 1000" {
		t.Errorf("expected that sleep is reported, got %v", killed)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// What dies of an interrupt may not be gone when the command is, and was not left by it.
func TestFinishAfterInterrupt(t *testing.T) {
	t.Parallel()
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	const command = "for i in $(seq 100); do sleep 1000 & done; echo started; wait"
	job, err := guard.Start(process.Command{Args: []string{"sh", "-c", command}, Env: os.Environ(), Stdout: writer, Stderr: writer})
	if err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	output := bufio.NewReader(reader)
	if line, err := output.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the command did not start: %q, %v", line, err)
	}
	left := job.Interrupt(time.Minute, nil)
	if _, _, killed := job.Finish(); len(left) > 0 || len(killed) > 0 {
		t.Errorf("expected no report of what was interrupted, got %v and %v", left, killed)
	}
	if rest, err := io.ReadAll(output); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestExitCodes(t *testing.T) {
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	for _, test := range []struct {
		args []string
		code int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 7"}, 7},
		{[]string{"sh", "-c", "kill -9 $$"}, 137},
		{[]string{"./not-there"}, 127},
		{[]string{"/"}, 126},
	} {
		job, err := guard.Start(process.Command{Args: test.args})
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if code, _, _ := job.Finish(); code != test.code {
			t.Errorf("%q: expected exit code %d, got %d", test.args, test.code, code)
		}
	}
	if _, err := guard.Start(process.Command{Args: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("expected an error about the program, got %v", err)
	}
}

// The processor time is that of a command and of what it has waited for, and not that of commands before it.
func TestProcessorTime(t *testing.T) {
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	for _, test := range []struct {
		command     string
		least, most time.Duration
	}{
		{"sh -c 'ulimit -t 1; while :; do :; done'; true", 500 * time.Millisecond, 2 * time.Second},
		{"true", 0, 500 * time.Millisecond},
	} {
		job, err := guard.Start(process.Command{Args: []string{"sh", "-c", test.command}, Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		if _, cpu, _ := job.Finish(); cpu < test.least || cpu > test.most {
			t.Errorf("%s: expected between %s and %s of processor time, got %s", test.command, test.least, test.most, cpu)
		}
	}
}

// The directory and the environment are those of the command, and its standard input is empty.
func TestCommand(t *testing.T) {
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "program"), []byte("#!/bin/sh\necho \"$WORD\" \"$1\"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	job, err := guard.Start(process.Command{
		Args: []string{"./program", "an argument"}, Dir: directory, Env: append(os.Environ(), "WORD=a word"), Stdout: writer, Stderr: writer,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if out, err := io.ReadAll(reader); err != nil || string(out) != "a word an argument\n" {
		t.Errorf("%q, %v", out, err)
	}
	job.Finish()
}

// List finds this process below its parent.
func TestList(t *testing.T) {
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	found := process.Descendants(all, os.Getppid())
	i := slices.IndexFunc(found, func(p process.Info) bool { return p.PID == os.Getpid() })
	if i < 0 {
		t.Fatalf("this process is not among %v", found)
	}
	if p := found[i]; p.Parent != os.Getppid() || p.Group != syscall.Getpgrp() || p.Name != "process.test" || !p.IsTest() || p.Exited ||
		!strings.HasPrefix(p.Arguments, os.Args[0]) {
		t.Errorf("this process is listed as %+v", p)
	}
}
