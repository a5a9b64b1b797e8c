package supervisor_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func TestExitStatus(t *testing.T) {
	s := start(t)
	run(t, s, shell("fails", "exit 3"))
	if exit, err := s.Wait(t.Context(), "fails"); err != nil || exit.Code != 3 {
		t.Errorf("expected exit code 3, got %v, %v", exit, err)
	}
	if got := status(t, s, "fails"); got.State != supervisor.Exited || got.Exit == nil || got.Exit.Code != 3 || got.PID != 0 {
		t.Errorf("expected Exited with code 3, got %+v", got)
	}
	run(t, s, sleeper("sleeps"))
	if err := s.Kill(t.Context(), "sleeps"); err != nil {
		t.Fatal(err)
	}
	if exit, err := s.Wait(t.Context(), "sleeps"); err != nil || exit.Signal != "killed" {
		t.Errorf("expected the signal killed, got %v, %v", exit, err)
	}
	if got := status(t, s, "sleeps"); got.State != supervisor.Exited {
		t.Errorf("expected a killed process that is not to be restarted to stay Exited, got %+v", got)
	}
}

func TestLogFileHoldsBothStreamsOfAllRuns(t *testing.T) {
	s := start(t)
	run(t, s, shell("talks", "echo out; echo err >&2"))
	if _, err := s.Wait(t.Context(), "talks"); err != nil {
		t.Fatal(err)
	}
	if err := s.StartAgain(t.Context(), "talks"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), "talks"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(s.LogFile("talks"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(log); got != "out\nerr\nout\nerr\n" {
		t.Errorf("expected both streams of two runs, got %q", got)
	}
}

// TestTraceable runs a process that a debugger may attach to. It is the same program, with the same arguments and environment.
func TestTraceable(t *testing.T) {
	s := start(t)
	p := shell("traced", "echo $0 $1 $VARIABLE; env | grep TESTBED_TRACEE; readlink /proc/$$/exe")
	p.Traceable, p.Args, p.Env = true, append(p.Args, "zero", "one"), []string{"VARIABLE=value", "PATH=" + os.Getenv("PATH")}
	run(t, s, p)
	if _, err := s.Wait(t.Context(), "traced"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(s.LogFile("traced"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(log); !strings.HasPrefix(got, "zero one value\n") || strings.Contains(got, "TRACEE") || strings.Contains(got, ".test") {
		t.Errorf("the traceable process says %q", got)
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	s := start(t)
	t.Setenv("OF_THE_CALLER", "yes")
	dir := t.TempDir()
	t.Chdir(dir)
	run(t, s, shell("inherits", `echo "$OF_THE_CALLER $TESTBED_SUPERVISES $PWD"`))
	own := shell("own", `echo "$OF_THE_CALLER $MINE $PWD"`)
	own.Env, own.Dir = []string{"MINE=1"}, "/"
	run(t, s, own)
	for name, want := range map[string]string{"inherits": "yes  " + dir, "own": " 1 /"} {
		if _, err := s.Wait(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(s.LogFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(string(log), "\n"); got != want {
			t.Errorf("%s: expected %q, got %q", name, want, got)
		}
	}
}

func TestStartsAgain(t *testing.T) {
	s := start(t)
	p := sleeper("comes-back")
	p.Restart = true
	first := run(t, s, p)
	if err := s.Kill(t.Context(), "comes-back"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second run", func() bool {
		got := status(t, s, "comes-back")
		return got.State == supervisor.Running && got.Restarts == 1 && got.PID != first.PID
	})
	// Stopped is stopped.
	if err := s.Stop(t.Context(), "comes-back"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s, "comes-back"); got.State != supervisor.Stopped {
		t.Errorf("expected Stopped, got %+v", got)
	}
	if err := s.StartAgain(t.Context(), "comes-back"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s, "comes-back"); got.State != supervisor.Running || got.Restarts != 2 {
		t.Errorf("expected the third run, got %+v", got)
	}
}

func TestStopInBackOff(t *testing.T) {
	s := start(t)
	p := shell("crashes", "exit 1")
	p.Restart = true
	run(t, s, p)
	eventually(t, "the pause after the second end", func() bool {
		got := status(t, s, "crashes")
		return got.State == supervisor.BackOff && got.Restarts >= 1 // a slow look may miss some
	})
	if err := s.Stop(t.Context(), "crashes"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s, "crashes"); got.State != supervisor.Stopped {
		t.Errorf("expected Stopped, got %+v", got)
	}
}

func TestRemove(t *testing.T) {
	s := start(t)
	stubborn := shell("stubborn", "trap '' TERM; echo said; while :; do sleep 1000; done")
	stubborn.Grace = time.Hour
	run(t, s, sleeper("stays"))
	for range 2 { // its name is free again
		run(t, s, stubborn)
		if err := s.Remove(t.Context(), "stubborn"); err != nil {
			t.Fatal(err)
		}
		if all, err := s.Status(t.Context()); err != nil || len(all) != 1 || all[0].Name != "stays" {
			t.Errorf("expected one process to be left, got %+v, %v", all, err)
		}
		if _, err := os.Stat(s.LogFile("stubborn")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("expected the log to be gone, got %v", err)
		}
	}
}

func TestStopGivesGrace(t *testing.T) {
	s := start(t)
	for _, test := range []struct {
		name  string
		grace time.Duration
		want  supervisor.ExitStatus
	}{
		{"polite", time.Minute, supervisor.ExitStatus{Code: 7}},
		{"at-once", 0, supervisor.ExitStatus{Code: -1, Signal: "killed"}},
	} {
		p := shell(test.name, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
		p.Grace = test.grace
		run(t, s, p)
		untilItSays(t, s, test.name, "ready")
		if err := s.Stop(t.Context(), test.name); err != nil {
			t.Fatal(err)
		}
		if got := status(t, s, test.name); got.State != supervisor.Stopped || got.Exit == nil || *got.Exit != test.want {
			t.Errorf("%s: expected Stopped and %v, got %+v", test.name, test.want, got)
		}
	}
	t.Run("a process that does not listen", func(t *testing.T) {
		p := shell("deaf", `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
		p.Grace = 50 * time.Millisecond
		run(t, s, p)
		untilItSays(t, s, "deaf", "ready")
		if err := s.Stop(t.Context(), "deaf"); err != nil {
			t.Fatal(err)
		}
		if got := status(t, s, "deaf"); got.Exit == nil || got.Exit.Signal != "killed" {
			t.Errorf("expected it to be killed, got %+v", got)
		}
	})
	t.Run("a paused process", func(t *testing.T) {
		p := shell("held", `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
		p.Grace = time.Minute
		run(t, s, p)
		untilItSays(t, s, "held", "ready")
		if err := s.Pause(t.Context(), "held"); err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(t.Context(), "held"); err != nil {
			t.Fatal(err)
		}
		if got := status(t, s, "held"); got.Exit == nil || got.Exit.Code != 7 {
			t.Errorf("expected it to exit on its own, got %+v", got)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	s := start(t)
	p := run(t, s, sleeper("held"))
	if err := s.Pause(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s, "held"); got.State != supervisor.Paused || got.PID != p.PID {
		t.Errorf("expected the same process, Paused, got %+v", got)
	}
	if got := processState(t, p.PID); !strings.HasPrefix(got, "T") {
		t.Errorf("expected the process to be stopped (T), got %s", got)
	}
	if err := s.Resume(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process going on", func() bool { return !strings.HasPrefix(processState(t, p.PID), "T") })
	if got := status(t, s, "held"); got.State != supervisor.Running {
		t.Errorf("expected Running, got %+v", got)
	}
}

func TestRestartAndSignal(t *testing.T) {
	s := start(t)
	first := run(t, s, shell("worker", `trap 'echo got it' HUP; echo ready; while :; do sleep 0.01; done`))
	untilItSays(t, s, "worker", "ready")
	if err := syscall.Kill(first.PID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	untilItSays(t, s, "worker", "got it")
	if err := s.Restart(t.Context(), "worker"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s, "worker"); got.State != supervisor.Running || got.PID == first.PID || got.Restarts != 1 {
		t.Errorf("expected another process and one restart, got %+v", got)
	}
}

// What starts a supervisor may ignore signals, as all that runs under nohup
// ignores SIGHUP: what the supervisor runs does not inherit that.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	ignored := []os.Signal{syscall.SIGHUP, syscall.SIGINT}
	signal.Ignore(ignored...)
	s := start(t)
	signal.Reset(ignored...)
	worker := run(t, s, shell("worker", `trap 'echo hangup' HUP; trap 'echo interrupt' INT; echo ready; while :; do sleep 0.01; done`))
	untilItSays(t, s, "worker", "ready")
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := syscall.Kill(worker.PID, sig); err != nil {
			t.Fatal(err)
		}
		untilItSays(t, s, "worker", sig.String())
	}
}

// TestASignalComesOnce matters to every operator: controller-runtime takes a second SIGTERM for an order to end at once, with
// its lease in its hand.
func TestASignalComesOnce(t *testing.T) {
	s := start(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := func(text string) int {
		log, err := os.ReadFile(s.LogFile("counter"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(log), text)
	}
	for stopped := range 20 {
		run(t, s, supervisor.Process{Name: "counter", Path: self, Env: append(os.Environ(), part+"=counter"), Grace: time.Hour})
		eventually(t, "a program that is ready", func() bool { return lines("ready") == stopped+1 })
		stop := make(chan error)
		go func() { stop <- s.Stop(context.Background(), "counter") }()
		eventually(t, "a line for the signal", func() bool { return lines("told to end") > stopped })
		if err := errors.Join(s.Kill(t.Context(), "counter"), <-stop); err != nil {
			t.Fatal(err)
		}
		if got := lines("told to end"); got != stopped+1 {
			t.Errorf("expected %d signals, got %d", stopped+1, got)
		}
	}
}

func TestAWholeProcessGroupEnds(t *testing.T) {
	s := start(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	grandchild := func() (pid int) {
		eventually(t, "the grandchild's id", func() bool {
			data, err := os.ReadFile(pidFile)
			if err != nil {
				return false
			}
			pid = number(string(data))
			return pid > 0
		})
		return pid
	}
	// The shell ends at the signal; what it started must not outlive it.
	run(t, s, shell("stopped", `sleep 1000 & echo $! >`+pidFile+`; wait`))
	pid := grandchild()
	if err := s.Stop(t.Context(), "stopped"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of what a stopped process started", func() bool { return !alive(t, pid) })

	if err := os.Remove(pidFile); err != nil {
		t.Fatal(err)
	}
	run(t, s, shell("gone", `sleep 1000 & echo $! >`+pidFile))
	pid = grandchild()
	if _, err := s.Wait(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of what a process left when it ended", func() bool { return !alive(t, pid) })
}

func TestRefusals(t *testing.T) {
	s := start(t)
	run(t, s, sleeper("taken"))
	run(t, s, shell("ended", "exit 0"))
	if _, err := s.Wait(t.Context(), "ended"); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, err := range map[string]error{
		"a name that runs":       s.Run(ctx, sleeper("taken")),
		"a name with a slash":    s.Run(ctx, sleeper("../escape")),
		"no such program":        s.Run(ctx, supervisor.Process{Name: "none", Path: "/no/such/program"}),
		"no program":             s.Run(ctx, supervisor.Process{Name: "none", Path: os.DevNull}),
		"a process nobody knows": s.Stop(ctx, "nobody"),
		"killing an ended one":   s.Kill(ctx, "ended"),
		"pausing an ended one":   s.Pause(ctx, "ended"),
		"a task nobody knows":    s.RunTask(ctx, "t", "no-such-task", nil, nil),
	} {
		if err == nil {
			t.Errorf("%s: expected an error, got none", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: expected one line, got %q", name, err)
		}
	}
	if p, found, err := s.Find(ctx, "nobody"); err != nil || found {
		t.Errorf("expected no process nobody, got %+v, %v", p, err)
	}
	if list, err := s.Status(ctx); err != nil || len(list) != 2 {
		t.Errorf("expected only the two processes that could be started, got %v, %v", list, err)
	}
	// A name that has ended may be used again, for something else.
	run(t, s, sleeper("ended"))
}

func TestWaitHonoursItsContext(t *testing.T) {
	s := start(t)
	run(t, s, sleeper("sleeps"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, "sleeps"); !errors.Is(err, context.Canceled) {
		t.Errorf("expected %v, got %v", context.Canceled, err)
	}
}
