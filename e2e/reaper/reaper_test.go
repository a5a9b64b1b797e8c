package reaper_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/reaper"
)

// part says which program this test binary is: empty means the tests.
const part = "REAPER_TEST_PART"

// evidence names the file that the registered clean-up writes.
const evidence = "REAPER_TEST_EVIDENCE"

func init() {
	reaper.Register("evidence", func(argument string) error {
		return os.WriteFile(os.Getenv(evidence), []byte(argument), 0o600)
	})
}

func TestMain(m *testing.M) {
	reaper.SetGrace(3 * time.Second) // in the reapers of these tests, too: one of the processes that are left ignores SIGTERM
	switch os.Getenv(part) {
	case "":
		os.Exit(m.Run())
	case "tests", "outer":
		os.Exit(reaper.Run(m))
	case "guard": // a program that only belongs to a run
		reaper.Main()
		if err := reaper.Guard("evidence", "of another program"); err != nil {
			panic(err)
		}
	}
}

// TestInner is a test that starts what it does not end, and then waits to be killed.
func TestInner(t *testing.T) {
	switch os.Getenv(part) {
	case "outer":
		outer(t)
	case "tests":
		inner(t)
	}
}

func inner(t *testing.T) {
	for _, command := range []*exec.Cmd{
		exec.Command("sleep", "1000"),
		exec.Command("sh", "-c", "sleep 1000; sleep 1001"),
		exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 1; done"),
		exec.Command("sh", "-c", "kill -STOP $$; sleep 1000"),
		{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 & sleep 1001"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}},
	} {
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
	}
	locked, err := os.MkdirTemp("", "read-only-") //nolint:usetesting // at such a directory, the clean-up of t.TempDir fails unless the user is root
	err = errors.Join(err, os.WriteFile(filepath.Join(locked, "file"), nil, 0o400), os.Chmod(locked, 0o500))
	if os.Getenv("REAPER_TEST_GUARD") != "" {
		guard := exec.Command(os.Args[0])
		guard.Env = append(os.Environ(), part+"=guard")
		err = errors.Join(err, guard.Run())
	} else {
		err = errors.Join(err, reaper.Guard("evidence", "of the test"), reaper.Guard("evidence", "released"))
		reaper.Release("evidence", "released")
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("\nready")
	if os.Getenv("REAPER_TEST_RETURNS") == "" {
		<-time.After(time.Hour) // Go would notice that nothing can end an empty select
	}
}

// outer is a test that runs the inner one.
func outer(t *testing.T) {
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Env = append(os.Environ(), part+"=tests")
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	t.Log(tests.Run())
}

// tests are a program that is to be killed.
type tests struct {
	*testing.T
	command   *exec.Cmd
	temporary string
	output    *bufio.Reader
}

func start(t *testing.T, role string, arguments []string, environment ...string) tests {
	t.Helper()
	s, err := tryToStart(t, role, arguments, environment...)
	if err != nil {
		t.Fatalf("the tests that were to be killed: %v", err)
	}
	return s
}

// tryToStart is start for tests that may end too early: then it returns an error.
func tryToStart(t *testing.T, role string, arguments []string, environment ...string) (tests, error) {
	t.Helper()
	directory := t.TempDir()
	// The run's own directory is in another one: the clean-up writes to this one after that is removed.
	temporary := filepath.Join(directory, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	s := tests{T: t, temporary: temporary, command: exec.Command(os.Args[0], append([]string{"-test.run=^TestInner$"}, arguments...)...)}
	s.command.Env = append(os.Environ(), append([]string{part + "=" + role, "TMPDIR=" + temporary, evidence + "=" + filepath.Join(directory, "evidence")}, environment...)...)
	out, err := s.command.StdoutPipe()
	s.command.Stderr = s.command.Stdout
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // should the test fail
		for _, process := range leftover.Processes(temporary) {
			var pid int
			if _, err := fmt.Sscanf(process, "/proc/%d", &pid); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	s.output = bufio.NewReader(out)
	for line := ""; line != "ready\n"; {
		if line, err = s.output.ReadString('\n'); err != nil {
			_ = s.command.Wait()
			return s, err
		}
	}
	return s, nil
}

// expectNothing waits until nothing of the tests is left, and checks what the clean-up has written.
func (s tests) expectNothing(want string) {
	s.Helper()
	leftover.None(s, s.temporary)
	// The directory goes last.
	for begin := time.Now(); time.Since(begin) < 10*time.Minute; <-time.After(10 * time.Millisecond) {
		if left, _ := os.ReadDir(s.temporary); len(left) == 0 {
			break
		}
	}
	if left, err := os.ReadDir(s.temporary); err != nil || len(left) > 0 {
		s.Errorf("left among the temporary files: %v %v", left, err)
	}
	if cleaned, err := os.ReadFile(filepath.Join(s.temporary, "..", "evidence")); string(cleaned) != want {
		s.Errorf("the clean-up was called with %q (%v), expected %q", cleaned, err, want)
	}
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]syscall.Signal{
		"SIGKILL": syscall.SIGKILL, "SIGQUIT": syscall.SIGQUIT, "SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sent) { // by nohup, or by a shell for a job in the background; a program that is started next does not ignore it
				signal.Notify(make(chan os.Signal, 1), sent)
			}
			s := start(t, "tests", nil)
			if err := s.command.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			s.expectNothing("of the test")
			_ = s.command.Wait()
		})
	}
	t.Run("Go's timeout", func(t *testing.T) {
		t.Parallel()
		var s tests
		for limit := 5 * time.Second; ; limit *= 2 { // a slow machine may need longer to start all that is to be left
			var err error
			if s, err = tryToStart(t, "tests", []string{"-test.timeout=" + limit.String()}); err == nil {
				break
			}
			if limit > 10*time.Minute {
				t.Fatal(err)
			}
		}
		if out, err := io.ReadAll(s.output); err != nil || !strings.Contains(string(out), "test timed out") {
			t.Errorf("expected that Go's timeout ends the tests: %v\n%s", err, out)
		}
		s.expectNothing("of the test")
		_ = s.command.Wait()
	})
	t.Run("the end of the tests", func(t *testing.T) {
		t.Parallel()
		s := start(t, "tests", nil, "REAPER_TEST_RETURNS=yes")
		if _, err := io.ReadAll(s.output); err != nil {
			t.Error(err)
		}
		if err := s.command.Wait(); err != nil {
			t.Errorf("tests that pass: %v", err)
		}
		if left := leftover.Processes(s.temporary); len(left) > 0 {
			t.Errorf("left when the tests have ended:\n%s", strings.Join(left, "\n"))
		}
		s.expectNothing("of the test")
	})
	t.Run("guarded by another program", func(t *testing.T) {
		t.Parallel()
		s := start(t, "tests", nil, "REAPER_TEST_GUARD=yes")
		_ = s.command.Process.Kill()
		s.expectNothing("of another program")
		_ = s.command.Wait()
	})
	t.Run("an outer run", func(t *testing.T) {
		t.Parallel()
		s := start(t, "outer", nil)
		_ = s.command.Process.Kill()
		s.expectNothing("of the test")
		_ = s.command.Wait()
	})
}

// TestReaperIsKilledToo kills the tests and their reaper: the next run cleans up.
func TestReaperIsKilledToo(t *testing.T) {
	t.Parallel()
	s := start(t, "tests", nil)
	runs, err := filepath.Glob(filepath.Join(s.temporary, "testbed-run-*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("the runs are %q %v, expected one", runs, err)
	}
	for _, process := range leftover.Processes("--reap=" + runs[0]) {
		var pid int
		if _, err := fmt.Sscanf(process, "/proc/%d", &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
	for len(leftover.Processes("--reap="+runs[0])) > 0 { // it may take a moment to die
		<-time.After(10 * time.Millisecond)
	}
	if left := leftover.Processes(s.temporary); len(left) == 0 {
		t.Error("nothing is left, so there is nothing to clean up")
	}
	next := exec.Command(os.Args[0], "-test.run=^$")
	next.Env = append(os.Environ(), part+"=tests", "TMPDIR="+s.temporary, evidence+"="+filepath.Join(s.temporary, "..", "evidence"))
	if out, err := next.CombinedOutput(); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	s.expectNothing("of the test")
}
