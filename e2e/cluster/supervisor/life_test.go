package supervisor_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func TestShutdownLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	s := startIn(t, dir)
	p := run(t, s, sleeper("child"))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(t, p.PID) || alive(t, s.PID()) {
		t.Error("expected child and supervisor to be gone")
	}
	expectEmpty(t, filepath.Dir(dir))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("expected a second Shutdown to find nothing to do, got %v", err)
	}
}

func TestShutdownServesWhoAsksForTime(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	s := startIn(t, dir)
	// The polite one ends only after it has seen that the other one still runs.
	server := run(t, s, sleeper("server"))
	proof := filepath.Join(t.TempDir(), "proof")
	p := shell("client", `trap 'sleep 0.1; kill -0 `+itoa(server.PID)+` && echo served >`+proof+`; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	p.Grace = time.Minute
	run(t, s, p)
	untilItSays(t, s, "client", "ready")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !exists(t, proof) {
		t.Error("expected the server to live until the client had ended")
	}
}

func TestKilledParent(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	h := startParent(t, dir)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of supervisor and child", func() bool { return !alive(t, h.Supervisor) && !alive(t, h.Child) })
	expectEmpty(t, filepath.Dir(dir))
}

func TestParentThatReturns(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	h := startParent(t, dir)
	_ = h.stdin.Close()
	eventually(t, "the end of supervisor and child", func() bool { return !alive(t, h.Supervisor) && !alive(t, h.Child) })
	eventually(t, "the end of the directory", func() bool { return !exists(t, dir) })
}

func TestKilledSupervisor(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	s := startIn(t, dir)
	p := run(t, s, sleeper("child"))
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("expected Shutdown to clean up after a killed supervisor, got %v", err)
	}
	eventually(t, "the end of the child", func() bool { return !alive(t, p.PID) })
	expectEmpty(t, filepath.Dir(dir))
}

func TestClosing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*supervisor.Supervisor) error{
		"shut down": func(s *supervisor.Supervisor) error { return s.Shutdown(context.Background()) },
		"killed":    func(s *supervisor.Supervisor) error { return syscall.Kill(s.PID(), syscall.SIGKILL) },
	} {
		s := start(t)
		closing := make(chan error, 1)
		go func() { closing <- s.Closing(context.Background()) }()
		over, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Closing(over); !errors.Is(err, context.Canceled) {
			t.Errorf("expected %v of a supervisor that goes on, got %v", context.Canceled, err)
		}
		if err := end(s); err != nil {
			t.Error(err)
		}
		if err := <-closing; err != nil {
			t.Errorf("%s: expected nil, got %v", name, err)
		}
	}
}

func TestHandleThatIsLetGo(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	startIn(t, dir)
	for range 3 { // the handle, and then the files that it alone held
		runtime.GC()
	}
	s, err := supervisor.Attach(dir)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, sleeper("child"))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDetached(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	h := startParent(t, dir, "detach")
	_ = h.stdin.Close()
	if err := h.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s, err := supervisor.Attach(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.PID() != h.Supervisor {
		t.Errorf("expected the supervisor %d, got %d", h.Supervisor, s.PID())
	}
	if info, err := s.Info(t.Context()); err != nil || !info.Detached {
		t.Errorf("expected it to say that it is detached, got %+v, %v", info, err)
	}
	if got := status(t, s, "child"); got.PID != h.Child || !alive(t, h.Child) {
		t.Errorf("expected the child %d to run on, got %+v", h.Child, got)
	}
	if session, err := sessionOf(s.PID()); err != nil || session != s.PID() {
		t.Errorf("expected a session of its own, got %d, %v", session, err)
	}
	if _, err := supervisor.Start(t.Context(), supervisor.Options{Dir: dir}); !errors.Is(err, supervisor.ErrRunning) {
		t.Errorf("a second Start: expected ErrRunning, got %v", err)
	}
	if err := supervisor.Clean(dir); !errors.Is(err, supervisor.ErrRunning) {
		t.Errorf("Clean: expected ErrRunning, got %v", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(t, h.Child) || alive(t, h.Supervisor) {
		t.Error("expected child and supervisor to be gone")
	}
	expectEmpty(t, filepath.Dir(dir))
	if _, err := supervisor.Attach(dir); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("expected ErrNotRunning, got %v", err)
	}
}

// Like out=$(make demo): the shell reads until everybody who holds the pipe is
// gone. The same goes for a pipe that came as any other descriptor.
func TestDetachedHoldsNothingOfItsParent(t *testing.T) {
	t.Parallel()
	dir := groupDir(t)
	stdout, childsStdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	extra, childsExtra, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir, "detach")
	cmd.Env = append(os.Environ(), part+"=parent")
	cmd.Stdout, cmd.Stderr = childsStdout, childsStdout
	cmd.ExtraFiles = []*os.File{childsExtra}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, dir) })
	_ = childsStdout.Close()
	_ = childsExtra.Close()
	for name, pipe := range map[string]*os.File{"stdout": stdout, "another pipe": extra} {
		if err := pipe.SetReadDeadline(time.Now().Add(10 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, pipe); err != nil {
			t.Errorf("%s: expected its end when the parent had ended: %v", name, err)
		}
	}
}

func TestKilledDetachedSupervisor(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *testing.T, dir string){
		"Attach": func(t *testing.T, dir string) {
			if _, err := supervisor.Attach(dir); !errors.Is(err, supervisor.ErrNotRunning) {
				t.Errorf("expected ErrNotRunning, got %v", err)
			}
			expectEmpty(t, filepath.Dir(dir))
		},
		"Clean": func(t *testing.T, dir string) {
			if err := supervisor.Clean(dir); err != nil {
				t.Error(err)
			}
			expectEmpty(t, filepath.Dir(dir))
		},
		"Start": func(t *testing.T, dir string) {
			s := startIn(t, dir)
			if list, err := s.Status(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("expected a fresh group, got %v, %v", list, err)
			}
			shutdown(t, dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := groupDir(t)
			h := startParent(t, dir, "detach")
			if err := syscall.Kill(h.Supervisor, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the end of the supervisor", func() bool { return !alive(t, h.Supervisor) })
			next(t, dir)
			eventually(t, "the end of the child", func() bool { return !alive(t, h.Child) })
		})
	}
}

func TestStartFailsWithoutATrace(t *testing.T) {
	t.Parallel()
	t.Run("a program that never calls Main", func(t *testing.T) {
		t.Parallel()
		dir := groupDir(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOfAForgetfulProgram$", "-test.v")
		cmd.Env = append(os.Environ(), part+"=forgetful", "GROUP="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "call supervisor.Main() first thing") {
			t.Errorf("expected the remedy in the message, got %v\n%s", err, out)
		}
		expectEmpty(t, filepath.Dir(dir))
	})
	t.Run("a context that is done", func(t *testing.T) {
		t.Parallel()
		dir := groupDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := supervisor.Start(ctx, supervisor.Options{Dir: dir}); !errors.Is(err, context.Canceled) {
			t.Errorf("expected %v, got %v", context.Canceled, err)
		}
		expectEmpty(t, filepath.Dir(dir))
	})
	t.Run("somebody's directory", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		precious := filepath.Join(dir, "thesis.tex")
		if err := os.WriteFile(precious, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := supervisor.Start(t.Context(), supervisor.Options{Dir: dir}); err == nil {
			t.Error("expected an error, got none")
		}
		if !exists(t, precious) {
			t.Error("expected the directory's content to be left alone")
		}
	})
	t.Run("a directory that can't be made", func(t *testing.T) {
		t.Parallel()
		if _, err := supervisor.Start(t.Context(), supervisor.Options{Dir: filepath.Join(os.DevNull, "group")}); err == nil {
			t.Error("expected an error, got none")
		}
	})
}

// TestOfAForgetfulProgram is the program of the case above; as a test it has
// nothing to say.
func TestOfAForgetfulProgram(t *testing.T) {
	if os.Getenv(part) != "forgetful" {
		t.Skip("it is run by TestStartFailsWithoutATrace")
	}
	_, err := supervisor.Start(t.Context(), supervisor.Options{Dir: os.Getenv("GROUP")})
	t.Fatal(err)
}

func TestDirectoryWithALongName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30), "group")
	s := startIn(t, dir)
	run(t, s, sleeper("child"))
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestManySupervisorsSideBySide(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for i := range 4 {
		t.Run(itoa(i), func(t *testing.T) {
			t.Parallel()
			s := startIn(t, filepath.Join(parent, itoa(i)))
			run(t, s, sleeper("child"))
			if list, err := s.Status(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("expected one process of its own, got %v, %v", list, err)
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// shutdown ends a group that this process may not have started.
func shutdown(t *testing.T, dir string) {
	t.Helper()
	s, err := supervisor.Attach(dir)
	if err != nil {
		t.Error(err)
		return
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// expectEmpty expects that a group has taken everything with it.
func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("expected nothing in %s, got %v", dir, entries)
	}
}
