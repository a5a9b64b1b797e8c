package supervisor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/reaper"
)

// part is set in the environment of the helper programs of these tests, which
// are this test binary again.
const part = "SUPERVISOR_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(part) == "forgetful" {
		// Like any program: it looks at its flags, and refuses unknown ones.
		os.Exit(m.Run())
	}
	supervisor.Main()
	switch os.Getenv(part) {
	case "":
		os.Exit(reaper.Run(m))
	case "parent":
		exitWith(parent(os.Args[1:]))
	case "early":
		// A supervisor's child that starts one itself must be allowed to.
		exitWith(parent(os.Args[1:]))
	case "counter":
		counter()
	}
}

// counter is a program that writes a line for each SIGTERM that it gets, and ends for nothing else but a SIGKILL.
func counter() {
	terms := make(chan os.Signal, 100)
	signal.Notify(terms, syscall.SIGTERM)
	fmt.Println("ready")
	for range terms {
		fmt.Println("told to end")
	}
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// family is what a parent reports: whose life hangs on whose.
type family struct {
	Parent, Supervisor, Child int
}

// parent is a program that runs one process under a supervisor in the directory
// args[0], reports who is who, and then waits for the end of its stdin. With
// the argument "detach" it lets the supervisor go first.
func parent(args []string) error {
	ctx := context.Background()
	s, err := supervisor.Start(ctx, supervisor.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	if err := s.Run(ctx, sleeper("child")); err != nil {
		return err
	}
	if len(args) > 1 && args[1] == "detach" {
		if err := s.Detach(ctx); err != nil {
			return err
		}
	}
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(family{os.Getpid(), s.PID(), status[0].PID}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// sleeper is a process that does nothing until it is ended. It is one program,
// not a shell with a child.
func sleeper(name string) supervisor.Process {
	return supervisor.Process{Name: name, Path: "sleep", Args: []string{"1000"}}
}

// shell is a process that runs a shell script.
func shell(name, script string) supervisor.Process {
	return supervisor.Process{Name: name, Path: "sh", Args: []string{"-c", script}}
}

// groupDir returns a directory for a group; its parent is the test's own and
// exists.
func groupDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "group")
}

// startIn starts a supervisor that the test shuts down itself.
func startIn(t *testing.T, dir string) *supervisor.Supervisor {
	t.Helper()
	s, err := supervisor.Start(t.Context(), supervisor.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t *testing.T) *supervisor.Supervisor {
	t.Helper()
	s := startIn(t, groupDir(t))
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shut down: %v", err)
		}
	})
	return s
}

// run runs a process and returns its status.
func run(t *testing.T, s *supervisor.Supervisor, p supervisor.Process) supervisor.ProcessStatus {
	t.Helper()
	if err := s.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return status(t, s, p.Name)
}

func status(t *testing.T, s *supervisor.Supervisor, name string) supervisor.ProcessStatus {
	t.Helper()
	p, found, err := s.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Fatalf("expected a process %s, got none", name)
	}
	return p
}

// alive reports whether a process runs. A zombie doesn't: its parent, which
// may be an init that takes its time, only has not asked yet how it ended.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	// On Linux a zombie with an "l" has threads that still end, and with them its files and locks are still held.
	state := strings.TrimSpace(string(out))
	return !strings.HasPrefix(state, "Z") || strings.Contains(state, "l")
}

// eventually polls, because there is nothing to wait on: the end of a process
// that is not our child, and what it takes away with it.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	const patience = 10 * time.Minute
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // there is no portable way to wait for the end of a process that is not a child
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// helper is a running helper program.
type helper struct {
	family
	cmd   *exec.Cmd
	stdin io.Closer
}

// startParent runs this test binary as the program parent.
func startParent(t *testing.T, args ...string) helper {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), part+"=parent")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the helper said nothing: %v", err)
	}
	h := helper{cmd: cmd, stdin: stdin}
	if err := json.Unmarshal(line, &h.family); err != nil {
		t.Fatal(err)
	}
	// Should the test fail, nothing may be left behind.
	t.Cleanup(func() {
		_ = syscall.Kill(h.Supervisor, syscall.SIGKILL)
		_ = syscall.Kill(h.Child, syscall.SIGKILL)
	})
	return h
}
